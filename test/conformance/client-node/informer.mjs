// Follows the ConfigMaps of `default` with the informer of the JavaScript client of Kubernetes; what it sees is printed as lines of JSON.
import { CoreV1Api, KubeConfig, makeInformer } from '@kubernetes/client-node'

const [server, caFile] = process.argv.slice(2)
const namespace = 'default'
const restartMs = 300

const config = new KubeConfig()
config.loadFromClusterAndUser(
  { name: 'platnet', server, caFile, skipTLSVerify: false },
  { name: 'tester', token: process.env.TOKEN },
)
const api = config.makeApiClient(CoreV1Api)

function print(event, object) {
  const { name, labels } = object?.metadata ?? {}
  process.stdout.write(`${JSON.stringify({ event, name, color: labels?.color })}\n`)
}

const informer = makeInformer(config, `/api/v1/namespaces/${namespace}/configmaps`, async () => {
  print('listed')
  return api.listNamespacedConfigMap({ namespace })
})
informer.on('add', (object) => print('added', object))
informer.on('update', (object) => print('updated', object))
informer.on('delete', (object) => print('deleted', object))
informer.on('error', startLater)
start()

function start() {
  informer.start().catch(startLater)
}

/** The informer ends with its connection; who uses it starts it again. */
function startLater() {
  setTimeout(start, restartMs)
}
