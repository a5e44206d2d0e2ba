import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, openSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestServer, testToken } from '../../test/helpers/api-server.ts'
import { residentMiB } from '../../test/helpers/platnet-server.ts'
import { processorMs } from '../processor-time.ts'

/** A controller manager as a process of its own, ours or the peer's. */
interface ManagerProcess extends AsyncDisposable {
  residentMiB(): number
  /** The processor time it has used. */
  cpuMs(): number
}

export type StartManager = (server: TestServer, folder: string) => ManagerProcess

const peerProgram = '.cache/peer/kube-controller-manager'

/** `sh bench/build-kubernetes.sh kube-controller-manager` makes it. */
export function isPeerBuilt(): boolean {
  return existsSync(peerProgram)
}

/** As `scripts/platnet` starts the product. */
const nodeFlags = ['--max-semi-space-size=4', '--initial-old-space-size=32', '--heap-growing-percent=50']

export const startOurs: StartManager = (server, folder) =>
  run(
    process.execPath,
    [...nodeFlags, join(import.meta.dirname, 'manager.program.ts'), writeKubeconfig(server, folder)],
    folder,
  )

const peerControllers = [
  'endpoints-controller',
  'endpointslice-controller',
  'endpointslice-mirroring-controller',
  'replicaset-controller',
  'deployment-controller',
  'garbage-collector-controller',
  'namespace-controller',
]

/** Its own limit of 20 requests a second is lifted: ours has none. */
export const startPeer: StartManager = (server, folder) => {
  const flags = [
    `--kubeconfig=${writeKubeconfig(server, folder)}`,
    `--controllers=${peerControllers.join(',')}`,
    '--leader-elect=false',
    '--secure-port=0',
    '--kube-api-qps=5000',
    '--kube-api-burst=5000',
  ]
  return run(peerProgram, flags, folder)
}

function run(program: string, flags: readonly string[], folder: string): ManagerProcess {
  const log = openSync(join(folder, 'manager.log'), 'a')
  const child: ChildProcess = spawn(program, flags, {
    stdio: ['ignore', log, log],
    env: { ...process.env, MALLOC_ARENA_MAX: '2' },
  })
  return {
    residentMiB: () => residentMiB(child.pid ?? 0),
    cpuMs: () => processorMs(child.pid ?? 0),
    [Symbol.asyncDispose]: async () => {
      child.kill('SIGKILL')
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
    },
  }
}

function writeKubeconfig(server: TestServer, folder: string): string {
  const file = join(folder, 'kubeconfig')
  const ca = Buffer.from(server.authority.certPem).toString('base64')
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'bench', cluster: { server: server.url, 'certificate-authority-data': ca } }],
    users: [{ name: 'bench', user: { token: testToken } }],
    contexts: [{ name: 'bench', context: { cluster: 'bench', user: 'bench' } }],
    'current-context': 'bench',
  }
  writeFileSync(file, JSON.stringify(config), { mode: 0o600 })
  return file
}
