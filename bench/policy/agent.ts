import { request } from 'node:http'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { RunningProgram } from '../../src/host/index.ts'
import { nodeAddress } from '../proxy/node-lab.ts'
import { usageOf } from '../proxy/usage.ts'
import type { PolicyLab } from './node-lab.ts'

const controlSocket = '/run/platnet-policy-bench.sock'
const readyTimeoutMs = 300_000

interface Answer {
  readonly status: number
  readonly text: string
}

/** An agent on the node of the lab. */
export class BenchAgent {
  readonly #program: RunningProgram
  /** From its start until policies are in the kernel, or its lists complete where it enforces none. */
  readonly startMs: number

  private constructor(program: RunningProgram, startMs: number) {
    this.#program = program
    this.startMs = startMs
  }

  /** Resolves when it is ready. */
  static async start(lab: PolicyLab, kubeconfig: string, components: string): Promise<BenchAgent> {
    const startedMs = performance.now()
    const names = ['--node-name=platnet', `--node-ip=${nodeAddress}`, `--components=${components}`]
    const files = [`--control-socket=${controlSocket}`, '--data-dir=/run/platnet-bench', `--kubeconfig=${kubeconfig}`]
    const program = await lab.start(path.resolve('scripts/platnet'), ['agent', ...names, ...files, '--log-level=warn'])
    while (!(await isReady())) {
      if (performance.now() - startedMs > readyTimeoutMs) throw new Error('the agent does not get ready')
      await sleep(10)
    }
    return new BenchAgent(program, performance.now() - startedMs)
  }

  /** Milliseconds that a sandbox waits at the gate; its pod has to exist in the API. */
  async timeGate(namespace: string, name: string, address: string): Promise<number> {
    const add = () => gate('ADD', { namespace, name, address })
    const startedMs = performance.now()
    const { status, text } = await add()
    const tookMs = performance.now() - startedMs
    if (status !== 200) throw new Error(`the gate answered ${status}: ${text}`)
    await gate('DEL', { namespace, name, address })
    return tookMs
  }

  usage(): { readonly residentMiB: number; readonly cpuSeconds: number } {
    return usageOf(this.#program.pid)
  }

  /** SIGKILL; its rules stay. */
  async kill(): Promise<void> {
    this.#program.kill('SIGKILL')
    await this.#program.exited
  }
}

/** Every plane has applied the lists. */
async function isReady(): Promise<boolean> {
  const query = new URLSearchParams({ resource: 'services', resourceVersion: '1', timeoutMs: '1000' })
  return (await ask('GET', `/applied?${query}`)).status === 200
}

function gate(command: string, pod: { namespace: string; name: string; address: string }): Promise<Answer> {
  const { namespace, name, address } = pod
  const headers = {
    'x-cni-command': command,
    'x-cni-containerid': name,
    'x-cni-args': `IgnoreUnknown=1;K8S_POD_NAMESPACE=${namespace};K8S_POD_NAME=${name}`,
  }
  const interfaces = [{ name: 'eth0', sandbox: `/run/netns/${name}` }]
  const prevResult = { cniVersion: '1.0.0', interfaces, ips: [{ address: `${address}/24`, interface: 0 }] }
  return ask('POST', '/cni/gate', headers, JSON.stringify({ cniVersion: '1.0.0', name: 'bench', prevResult }))
}

function ask(method: string, route: string, headers: Record<string, string> = {}, body = ''): Promise<Answer> {
  return new Promise((resolve) => {
    const failed = () => resolve({ status: 0, text: '' })
    request({ socketPath: controlSocket, path: route, method, headers, agent: false }, (response) => {
      let text = ''
      response.on('data', (chunk) => {
        text += String(chunk)
      })
      response.once('end', () => resolve({ status: response.statusCode ?? 0, text }))
    })
      .once('error', failed)
      .end(body)
  })
}
