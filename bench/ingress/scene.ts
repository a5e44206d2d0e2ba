// What all rows share: addresses, hosts and paths, and the certificate.
import { mkdirSync, writeFileSync } from 'node:fs'
import { type RunningProgram, runProgram } from '../../src/host/index.ts'

export const folder = '/run/plt-ingress-bench'
/** Rules of the load: 20 hosts with 10 paths each. */
const hostCount = 20
const pathsPerHost = 10
const backendCount = 4

/** Addresses of the private namespace, each answered by one server of the nginx behind all proxies. */
export const backends = Array.from({ length: backendCount }, (_, index) => ({
  address: `10.244.0.${10 + index}`,
  port: 8080,
}))

/** Ports of the proxies under measurement, in front of the backends. */
export interface ProxyPorts {
  readonly http: number
  readonly https: number
}

export const hosts = Array.from({ length: hostCount }, (_, index) => `shop-${index}.example.com`)
export const rules = hosts.flatMap((host) =>
  Array.from({ length: pathsPerHost }, (_, index) => ({ host, path: `/part-${index}` })),
)

/** Adds the backends' addresses, and starts the server that answers on them with 100 bytes that name the address. */
export async function startBackends(): Promise<RunningProgram> {
  mkdirSync(folder, { recursive: true })
  for (const { address } of backends)
    await runProgram('ip', ['addr', 'add', `${address}/32`, 'dev', 'lo'], { timeoutMs: 10_000 })
  const servers = backends.map(({ address, port }) => {
    const body = `${address} `.padEnd(99, '.')
    return `server { listen ${address}:${port} backlog=4096; location / { return 200 "${body}\\n"; } }`
  })
  return startNginx('backends', servers.join('\n'), 1)
}

export function writeFile(name: string, text: string): string {
  const file = `${folder}/${name}`
  writeFileSync(file, text)
  return file
}

/** In the foreground, with its files in the folder. */
export function startNginx(name: string, http: string, workers: number): Promise<RunningProgram> {
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (kind) => `${kind}_temp_path ${folder}/${name}-${kind};`,
  )
  const config = writeFile(
    `${name}.conf`,
    `daemon off; worker_processes ${workers}; pid ${folder}/${name}.pid; error_log stderr error;
events { worker_connections 8192; }
http { access_log off; keepalive_requests 1000000000; ${temporary.join(' ')}
${http}
}
`,
  )
  return runProgram('nginx', ['-c', config], { background: true, stderr: 'inherit' })
}
