import { mkdirSync } from 'node:fs'
import {
  addAddress,
  addRoute,
  attachToBridge,
  createBridge,
  createNetns,
  createVethPair,
  type RunningProgram,
  runProgram,
} from '../../src/host/index.ts'
import { ipOf } from './addresses.ts'
import { checkoutLauncher } from './program.ts'

const lan = { name: 'plt-lan' }

/** The network of the nodes, with this namespace as 192.0.2.1 on it: the place of the server. */
export async function createLan(): Promise<void> {
  await createBridge(lan)
  await addAddress(lan, { ip: ipOf('192.0.2.1'), prefixLength: 24 })
}

/** Node `number`: the namespace `plt-node-N` as 192.0.2.(10+N) on the network of the nodes, with a way to outside the cluster. */
export async function connectNode(number: number): Promise<void> {
  const netns = `plt-node-${number}`
  await createNetns(netns)
  await createVethPair({ name: `plt-lan-${number}` }, { name: 'eth0', netns })
  await attachToBridge({ name: `plt-lan-${number}` }, lan.name)
  await addAddress({ name: 'eth0', netns }, { ip: ipOf(`192.0.2.${10 + number}`), prefixLength: 24 })
  await addRoute({ destination: 'default', via: ipOf('192.0.2.1'), netns })
}

/** The agent of node `number`, a client of the server whose files are in `/run/server`; its own are in `/run/node-N`. */
export async function startAgent(number: number, flags: Record<string, string>): Promise<RunningProgram> {
  const folder = `/run/node-${number}`
  mkdirSync(folder, { recursive: true })
  const all = {
    'data-dir': folder,
    kubeconfig: '/run/server/admin.kubeconfig',
    server: 'https://192.0.2.1:6443',
    'node-name': `node-${number}`,
    'node-ip': `192.0.2.${10 + number}`,
    'control-socket': `${folder}/agent.sock`,
    'log-level': 'warn',
    ...flags,
  }
  const args = Object.entries(all).map(([flag, value]) => `--${flag}=${value}`)
  return runProgram(checkoutLauncher, ['agent', ...args], {
    netns: `plt-node-${number}`,
    background: true,
    stdout: 2,
    stderr: 2,
  })
}
