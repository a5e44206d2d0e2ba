// Proxies configured by hand, as an operator would who knows their manuals: the rules of the load, TLS, X-Forwarded-For.
// haproxy has as many threads as its driver: one for each processor.
import { type RunningProgram, runProgram } from '../../src/host/index.ts'
import { backends, folder, hosts, type ProxyPorts, rules, startNginx, writeFile } from './scene.ts'

export const haproxyPorts: ProxyPorts = { http: 8101, https: 8102 }
export const headersPorts: ProxyPorts = { http: 8103, https: 8104 }
export const promisesPorts: ProxyPorts = { http: 8105, https: 8106 }
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

/** What the driver promises beside routes, written by hand: refusals, limits, headers of a hop, identifiers, answers counted by code. */
const promises = String.raw`
  unique-id-format 0000%Ts%[rand(900000000),add(100000000)]%[rand(900000000),add(100000000)]
  tcp-request connection track-sc1 src table clients
  tcp-request connection reject if { sc_conn_cur(1) gt 1000 }
  http-request deny deny_status 405 if METH_CONNECT
  http-request deny deny_status 400 if { req.hdrs -m reg '\x00' }
  http-request deny deny_status 400 if { req.fhdr(transfer-encoding) -m found } { req.ver 1.0 }
  http-request deny deny_status 413 if { req.body_size gt 1073741824 }
  http-request del-header '^(?:forwarded$|x[-_]forwarded[-_]|connection$|keep-alive$|proxy-connection$|http2-settings$)' -m reg
  http-request add-header x-forwarded-for %[src]
  http-request add-header x-forwarded-proto %[ssl_fc,iif(https,http)]
  http-request add-header x-forwarded-host %[req.fhdr(host)]
  http-request add-header x-forwarded-port %[dst_port]
  http-request del-header upgrade if { req.fhdr(upgrade) -m sub -i h2c }
  http-request add-header connection upgrade if { req.fhdr(upgrade) -m found }
  http-request set-header x-request-id %[unique-id] unless { req.fhdr(x-request-id) -m reg ^[!-~]{1,128}$ }
  http-request del-header tracestate unless { req.fhdr(traceparent) -m reg ^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}- }
  http-request set-header traceparent 00-%[unique-id]-%[unique-id,bytes(16)]-00 unless { req.fhdr(traceparent) -m reg ^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}- }
  http-request track-sc0 req.fhdr(host) table counters
  http-after-response allow if { status 200 } { sc_inc_gpc(0,0) gt 0 }
  http-after-response allow if { status 400:499 } { sc_inc_gpc(1,0) gt 0 }
  http-after-response allow if { status 500:599 } { sc_inc_gpc(2,0) gt 0 }`

const tables = `
backend counters
  stick-table type string len 320 size 16384 store gpc(3)
backend clients
  stick-table type ipv6 size 100k expire 30s store conn_cur`

const rulesBeside = { none: '', edge: edgeHeaders, promises }

/** One map that leads `host/path` to a backend; the certificate is in `site.pem`. */
export async function startHaproxy(
  name: string,
  ports: ProxyPorts,
  beside: keyof typeof rulesBeside,
): Promise<RunningProgram> {
  const map = writeFile('haproxy.map', rules.map(({ host, path }) => `${host}${path}/ web\n`).join(''))
  const servers = backends.map(({ address, port }, index) => `  server s${index} ${address}:${port}`)
  const config = writeFile(
    `${name}.cfg`,
    `global
  maxconn 8192
defaults
  mode http
  timeout connect 5s
  timeout client 60s
  timeout server 60s
  timeout http-keep-alive 60s
  ${beside === 'none' ? 'option forwardfor' : ''}
frontend web
  bind 127.0.0.1:${ports.http}
  bind 127.0.0.1:${ports.https} ssl crt ${folder}/site.pem alpn h2,http/1.1${rulesBeside[beside]}
  use_backend %[base,concat(/),map_beg(${map},none)]
backend none
  http-request deny deny_status 404
backend web
  balance roundrobin
${servers.join('\n')}${beside === 'promises' ? tables : ''}
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
