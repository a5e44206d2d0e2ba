// Follows the Services of a server with a client-go informer and writes them as the lines of its input say:
// "create NAME", "label NAME VALUE", "delete NAME". Every line of its output is a JSON object: what the informer
// saw, what it asked for, how a write went.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

const namespace = "default"

type line struct {
	Event string `json:"event"`
	Name  string `json:"name,omitempty"`
	Color string `json:"color,omitempty"`
	URL   string `json:"url,omitempty"`
	Error string `json:"error,omitempty"`
}

type printer struct {
	mutex   sync.Mutex
	encoder *json.Encoder
}

func (printer *printer) print(line line) {
	printer.mutex.Lock()
	defer printer.mutex.Unlock()
	_ = printer.encoder.Encode(line)
}

func main() {
	server := flag.String("server", "", "https://HOST:PORT")
	ca := flag.String("ca", "", "file with the server's CA")
	flag.Parse()
	if err := run(*server, *ca, os.Getenv("TOKEN")); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(server, ca, token string) error {
	out := &printer{encoder: json.NewEncoder(os.Stdout)}
	client, err := kubernetes.NewForConfig(&rest.Config{
		Host:            server,
		BearerToken:     token,
		TLSClientConfig: rest.TLSClientConfig{CAFile: ca},
		WrapTransport:   func(next http.RoundTripper) http.RoundTripper { return reads{next, out} },
	})
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	if err := follow(ctx, client, out); err != nil {
		return err
	}
	commands := bufio.NewScanner(os.Stdin)
	for commands.Scan() {
		words := strings.Fields(commands.Text())
		written := line{Event: "written", Name: words[1]}
		if err := write(ctx, client, words); err != nil {
			written.Error = err.Error()
		}
		out.print(written)
	}
	return commands.Err()
}

func follow(ctx context.Context, client kubernetes.Interface, out *printer) error {
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithNamespace(namespace))
	services := factory.Core().V1().Services().Informer()
	tell := func(event string, object any) {
		if service, ok := object.(*corev1.Service); ok {
			out.print(line{Event: event, Name: service.Name, Color: service.Labels["color"]})
		}
	}
	_, err := services.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { tell("added", object) },
		UpdateFunc: func(_, object any) { tell("updated", object) },
		DeleteFunc: func(object any) { tell("deleted", object) },
	})
	if err != nil {
		return err
	}
	factory.Start(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), services.HasSynced) {
		return fmt.Errorf("the informer did not sync")
	}
	out.print(line{Event: "synced"})
	return nil
}

func write(ctx context.Context, client kubernetes.Interface, words []string) error {
	services := client.CoreV1().Services(namespace)
	switch {
	case words[0] == "create":
		service := &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Name: words[1]},
			Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}},
		}
		_, err := services.Create(ctx, service, metav1.CreateOptions{FieldValidation: "Strict"})
		return err
	case words[0] == "label" && len(words) == 3:
		service, err := services.Get(ctx, words[1], metav1.GetOptions{})
		if err != nil {
			return err
		}
		service.Labels = map[string]string{"color": words[2]}
		_, err = services.Update(ctx, service, metav1.UpdateOptions{})
		return err
	case words[0] == "delete":
		return services.Delete(ctx, words[1], metav1.DeleteOptions{})
	}
	return fmt.Errorf("unknown command %q", words)
}

// Tells of every list and watch.
type reads struct {
	next http.RoundTripper
	out  *printer
}

func (reads reads) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.Method == http.MethodGet && strings.HasSuffix(request.URL.Path, "/services") {
		reads.out.print(line{Event: "asked", URL: request.URL.RequestURI()})
	}
	return reads.next.RoundTrip(request)
}
