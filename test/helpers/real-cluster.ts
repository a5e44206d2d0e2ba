import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { hasImages } from '../../conformance/images.ts'
import { type RunningProgram, runProgram } from '../../src/host/index.ts'

const root = resolve(import.meta.dirname, '../..')
const scripts = join(root, 'conformance/cluster')
/** The folder of conformance/cluster, with programs, images, state and results. */
export const conformanceFolder = resolve(process.env['CONFORMANCE_FOLDER'] ?? join(root, '.cache/conformance'))
const minuteMs = 60_000

/** Why no cluster of real kubelets can be brought up here; false where it can. The shape of `TestOptions.skip`. */
export function missingCluster(...programs: readonly string[]): string | false {
  if (process.getuid?.() !== 0) return 'needs root'
  const control = ['kubelet', 'kube-apiserver', 'kube-controller-manager', 'kube-scheduler', 'etcd', 'agnhost']
  const missing = [...control, ...programs].filter((name) => !existsSync(join(conformanceFolder, 'bin', name)))
  if (missing.length > 0) return `${missing.join(', ')} not built: npm run conformance -- short`
  if (existsSync(join(conformanceFolder, 'state/pid')))
    return `another cluster runs in ${conformanceFolder}: sh conformance/cluster/down.sh`
  return false
}

/** A cluster of conformance/cluster in namespaces of its own: Kubernetes' control plane and a kubelet. */
export class RealCluster implements AsyncDisposable {
  /** Files of the cluster: kubeconfigs, `logs/`. */
  readonly state = join(conformanceFolder, 'state')
  readonly #env: Readonly<Record<string, string>>

  private constructor(settings: Readonly<Record<string, string>>) {
    this.#env = { WORK: conformanceFolder, PLATNET: root, CONTROL: 'kubernetes', NODES: '1', ...settings }
  }

  static async start(settings: Readonly<Record<string, string>>): Promise<RealCluster> {
    const cluster = new RealCluster(settings)
    await cluster.#script('install.sh')
    if (!hasImages(conformanceFolder)) await cluster.#script('images.sh')
    await cluster.#script('up.sh')
    return cluster
  }

  /** Standard output of a program on the node; throws ExecError where it exits other than 0. */
  async run(file: string, ...args: readonly string[]): Promise<string> {
    const inside = [join(scripts, 'inside.sh'), file, ...args]
    return (await runProgram('sh', inside, { timeoutMs: 9 * minuteMs, env: this.#env })).stdout
  }

  /** Starts a program on the node; its standard input and output are pipes. */
  start(file: string, ...args: readonly string[]): Promise<RunningProgram> {
    const inside = [join(scripts, 'inside.sh'), file, ...args]
    return runProgram('sh', inside, {
      background: true,
      stdin: 'pipe',
      stdout: 'pipe',
      stderr: 'inherit',
      env: this.#env,
    })
  }

  kubectl(...args: readonly string[]): Promise<string> {
    return this.run('kubectl', ...args)
  }

  /** The network namespace, by its name on the node, of the pod with an address. */
  async namespaceOf(address: string): Promise<string> {
    const script = `for each in $(ip netns list | cut -d' ' -f1); do
      ip -n $each -4 -o addr | grep -q ' ${address}/' && echo $each; done; true`
    const name = (await this.run('sh', '-c', script)).trim()
    if (name === '') throw new Error(`no network namespace on the node has ${address}`)
    return name
  }

  async #script(name: string): Promise<void> {
    await runProgram('sh', [join(scripts, name)], { timeoutMs: 5 * minuteMs, env: this.#env })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#script('down.sh')
  }
}
