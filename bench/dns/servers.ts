// The servers that are compared, each a process of its own on the loopback.
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import type { ClusterAccess } from '../../src/client/index.ts'
import { type RunningProgram, runProgram } from '../../src/host/index.ts'
import { addressOf, apiPort, dataDir, nameOf } from './cluster.ts'
import type { LoadTarget } from './load.ts'

const root = path.resolve(import.meta.dirname, '../..')
export const corednsFile = path.join(root, '.cache/peer/coredns')
const ports = { platnet: 5301, coredns: 5302, unbound: 5303, dnsmasq: 5304, upstream: 5305 }

function writeFile(name: string, text: string): string {
  const file = path.join(dataDir, name)
  writeFileSync(file, text)
  return file
}

async function startServer(file: string, args: readonly string[], port: number): Promise<LoadTarget> {
  const program: RunningProgram = await runProgram(file, args, { background: true, stderr: 'inherit' })
  return { address: '127.0.0.1', port, pid: program.pid }
}

export function startPlatnet(): Promise<LoadTarget> {
  const corefile = writeFile(
    'Corefile.platnet',
    `.:${ports.platnet} {
  bind 127.0.0.1
  errors
  kubernetes cluster.local in-addr.arpa { 
    pods insecure
    fallthrough in-addr.arpa
    ttl 30
  }
  forward . 127.0.0.1:${ports.upstream}
  cache 30
  loadbalance
}
`,
  )
  const flags = [
    '--components=dns',
    `--data-dir=${dataDir}`,
    `--kubeconfig=${dataDir}/admin.kubeconfig`,
    `--corefile=${corefile}`,
  ]
  const platnet = path.join(root, 'scripts/platnet')
  return startServer(platnet, ['agent', ...flags, '--node-name=node-1', '--log-level=warn'], ports.platnet)
}

export function startCoredns(access: ClusterAccess): Promise<LoadTarget> {
  const tls = [
    writeFile('admin.crt', access.clientCertificate ?? ''),
    writeFile('admin.key', access.clientKey ?? ''),
    writeFile('ca.crt', access.certificateAuthority ?? ''),
  ]
  const corefile = writeFile(
    'Corefile.coredns',
    `.:${ports.coredns} {
  bind 127.0.0.1
  errors
  kubernetes cluster.local in-addr.arpa {
    endpoint https://127.0.0.1:${apiPort}
    tls ${tls.join(' ')}
    pods insecure
    fallthrough in-addr.arpa
    ttl 30
  }
  forward . 127.0.0.1:${ports.upstream}
  cache 30
  loadbalance
}
`,
  )
  return startServer(corednsFile, ['-conf', corefile, '-quiet'], ports.coredns)
}

export function startUnbound(names: number): Promise<LoadTarget> {
  const data = Array.from(
    { length: names },
    (_, index) => `local-data: "${nameOf(index)}. 30 IN A ${addressOf(index)}"`,
  )
  const file = writeFile(
    'unbound.conf',
    `server:
  interface: 127.0.0.1@${ports.unbound}
  num-threads: 2
  so-reuseport: yes
  username: ""
  chroot: ""
  directory: "${dataDir}"
  pidfile: ""
  use-syslog: no
  verbosity: 0
  do-not-query-localhost: no
  module-config: "iterator"
  local-zone: "test." nodefault
  local-zone: "cluster.local." static
  ${data.join('\n  ')}
remote-control:
  control-enable: no
forward-zone:
  name: "."
  forward-addr: 127.0.0.1@${ports.upstream}
`,
  )
  return startServer('unbound', ['-d', '-c', file], ports.unbound)
}

export function startDnsmasq(names: number): Promise<LoadTarget> {
  const hosts = writeFile(
    'hosts',
    Array.from({ length: names }, (_, index) => `${addressOf(index)} ${nameOf(index)}`).join('\n'),
  )
  const args = [
    '--keep-in-foreground',
    '--no-resolv',
    '--no-hosts',
    `--addn-hosts=${hosts}`,
    `--port=${ports.dnsmasq}`,
    '--listen-address=127.0.0.1',
  ]
  return startServer(
    'dnsmasq',
    [
      ...args,
      '--bind-interfaces',
      '--local=/cluster.local/',
      '--user=root',
      '--pid-file=',
      `--server=127.0.0.1#${ports.upstream}`,
      '--cache-size=10000',
      '--dns-forward-max=1000',
    ],
    ports.dnsmasq,
  )
}

/** Any name below example.test has an address there. */
export function startUpstream(): Promise<LoadTarget> {
  const args = [
    '--keep-in-foreground',
    '--no-resolv',
    '--no-hosts',
    `--port=${ports.upstream}`,
    '--listen-address=127.0.0.1',
    '--bind-interfaces',
  ]
  return startServer(
    'dnsmasq',
    [...args, '--user=root', '--pid-file=', '--address=/example.test/192.0.2.80', '--local-ttl=300'],
    ports.upstream,
  )
}
