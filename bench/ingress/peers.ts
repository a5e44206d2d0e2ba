// Proxies configured by hand, as an operator would who knows their manuals: the rules of the load, TLS, X-Forwarded-For, one process thread.
import { type RunningProgram, runProgram } from '../../src/host/index.ts'
import { backends, folder, hosts, type ProxyPorts, rules, startNginx, writeFile } from './scene.ts'

export const haproxyPorts: ProxyPorts = { http: 8101, https: 8102 }
export const headersPorts: ProxyPorts = { http: 8103, https: 8104 }
export const nginxPorts: ProxyPorts = { http: 8111, https: 8112 }

/** Headers that an edge sets: nothing of them is taken from the client. */
const edgeHeaders = `
  unique-id-format %{+X}o%ci:%cp_%fi:%fp_%Ts_%rt:%pid
  unique-id-header x-request-id
  http-request del-header forwarded
  http-request del-header x-forwarded- -m beg
  http-request set-header x-forwarded-for %[src]
  http-request set-header x-forwarded-proto %[ssl_fc,iif(https,http)]
  http-request set-header x-forwarded-host %[req.fhdr(host)]
  http-request set-header x-forwarded-port %[dst_port]`

/** One map that leads `host/path` to a backend; the certificate is in `site.pem`. */
export async function startHaproxy(name: string, ports: ProxyPorts, headers: 'edge' | 'none'): Promise<RunningProgram> {
  const map = writeFile('haproxy.map', rules.map(({ host, path }) => `${host}${path}/ web\n`).join(''))
  const servers = backends.map(({ address, port }, index) => `  server s${index} ${address}:${port}`)
  const config = writeFile(
    `${name}.cfg`,
    `global
  maxconn 8192
  nbthread 1
defaults
  mode http
  timeout connect 5s
  timeout client 60s
  timeout server 60s
  timeout http-keep-alive 60s
  ${headers === 'none' ? 'option forwardfor' : ''}
frontend web
  bind 127.0.0.1:${ports.http}
  bind 127.0.0.1:${ports.https} ssl crt ${folder}/site.pem alpn h2,http/1.1${headers === 'edge' ? edgeHeaders : ''}
  use_backend %[base,concat(/),map_beg(${map},none)]
backend none
  http-request deny deny_status 404
backend web
  balance roundrobin
${servers.join('\n')}
`,
  )
  return runProgram('haproxy', ['-f', config, '-db'], { background: true, stderr: 'inherit' })
}

export function startPeerNginx(): Promise<RunningProgram> {
  const upstream = backends.map(({ address, port }) => `server ${address}:${port};`).join(' ')
  const ofHost = (host: string) => rules.filter((rule) => rule.host === host)
  const servers = hosts.map((host) => {
    const locations = ofHost(host).map(({ path }) => `location ${path} { proxy_pass http://web; }`)
    return `server { server_name ${host}; listen 127.0.0.1:${nginxPorts.http}; listen 127.0.0.1:${nginxPorts.https} ssl http2;
  ${locations.join('\n  ')} }`
  })
  const http = `server_names_hash_bucket_size 128;
ssl_certificate ${folder}/site.crt; ssl_certificate_key ${folder}/site.key;
proxy_http_version 1.1; proxy_set_header Connection ""; proxy_set_header Host $host;
proxy_set_header X-Forwarded-For $remote_addr;
upstream web { ${upstream} keepalive 64; }
${servers.join('\n')}`
  return startNginx('peer', http, 1)
}
