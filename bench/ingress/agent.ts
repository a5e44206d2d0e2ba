import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type RunningProgram, runProgram } from '../../src/host/index.ts'
import { usageOf } from '../proxy/usage.ts'
import { Prober } from './prober.ts'
import { folder, type ProxyPorts } from './scene.ts'

const readyTimeoutMs = 60_000

/** An agent with the component `ingress` alone, and the engine that it starts. */
export class IngressAgent {
  readonly #program: RunningProgram
  readonly #driver: Driver
  readonly ports: ProxyPorts

  private constructor(program: RunningProgram, driver: Driver, ports: ProxyPorts) {
    this.#program = program
    this.#driver = driver
    this.ports = ports
  }

  /** Resolves when the request is answered with success. */
  static async start(
    driver: Driver,
    ports: ProxyPorts,
    { kubeconfig, host, path: ready }: { readonly kubeconfig: string; readonly host: string; readonly path: string },
  ): Promise<IngressAgent> {
    const flags = [
      '--components=ingress',
      '--node-name=platnet',
      `--ingress-driver=${driver}`,
      `--ingress-http-addresses=127.0.0.1:${ports.http}`,
      `--ingress-https-addresses=127.0.0.1:${ports.https}`,
      `--control-socket=${folder}/${driver}.sock`,
      `--data-dir=${folder}/${driver}`,
      `--kubeconfig=${kubeconfig}`,
      `--port=${ports.http + 100}`,
      '--log-level=warn',
    ]
    const program = await runProgram(path.resolve('scripts/platnet'), ['agent', ...flags], {
      background: true,
      stdout: 'ignore',
      stderr: 'inherit',
    })
    const agent = new IngressAgent(program, driver, ports)
    const prober = new Prober(ports.http)
    const deadlineMs = performance.now() + readyTimeoutMs
    while ((await prober.ask(host, ready)).status !== 200) {
      if (performance.now() > deadlineMs)
        throw new Error(`the agent with ${driver} does not answer for ${host}${ready}`)
      await sleep(20)
    }
    prober.close()
    return agent
  }

  /** Seconds of processor time of what serves requests: haproxy, or the agent itself. */
  servingSeconds(): number {
    if (this.#driver === 'in-process') return usageOf(this.#program.pid).cpuSeconds
    return this.#engines().reduce((sum, pid) => sum + usageOf(pid).cpuSeconds, 0)
  }

  residentMiB(): { readonly agent: number; readonly engine: number } {
    const engine = this.#engines().reduce((sum, pid) => sum + usageOf(pid).residentMiB, 0)
    return { agent: usageOf(this.#program.pid).residentMiB, engine }
  }

  /** SIGTERM; its haproxy is ended too, by its id. */
  async stop(): Promise<void> {
    const engines = this.#engines()
    this.#program.kill('SIGTERM')
    await this.#program.exited
    for (const pid of engines) process.kill(pid, 'SIGTERM')
  }

  /** The master processes of our haproxy: those of that name that run with a file of the agent. */
  #engines(): readonly number[] {
    if (this.#driver === 'in-process') return []
    const isOurs = (pid: string) => read(`/proc/${pid}/cmdline`).includes(`${folder}/${this.#driver}/`)
    const found = readdirSync('/proc').filter(
      (pid) => /^\d+$/.test(pid) && read(`/proc/${pid}/comm`).trim() === 'haproxy' && isOurs(pid),
    )
    return found.filter((pid) => !found.includes(parentOf(pid))).map(Number)
  }
}

type Driver = 'haproxy' | 'in-process'

/** '' where the process is gone. */
function read(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}

function parentOf(pid: string): string {
  return read(`/proc/${pid}/stat`).split(') ')[1]?.split(' ')[1] ?? ''
}
