import { applySysctls, type Finding, nodeSysctls, probeSysctls, runProgram } from '../../host/index.ts'
import { describeError } from '../../model/errors.ts'
import {
  CniRuntime,
  type CniSandbox,
  describeRunning,
  examineNetworks,
  type PortMapping,
} from '../../node/cni/index.ts'
import { type Logger, silentLogger } from '../../observe/index.ts'
import { offerPackagedPlugins } from '../composition/cni-plugins.ts'
import type { Options } from '../context.ts'

export type { CniRuntime, CniSandbox, PortMapping }

/** The arguments of `platnet cni add`, `check` and `del` that describe a sandbox. */
export interface SandboxRequest {
  readonly containerId?: string
  readonly ifname: string
  /** `namespace/name`. */
  readonly pod: string
  readonly publish: readonly PortMapping[]
}

/** Builds the sandbox of a command. `netns` is a name of `ip netns` or a path. */
export function sandboxOfCli(netns: string, { containerId, ifname, pod, publish }: SandboxRequest): CniSandbox {
  const [podNamespace = 'default', podName = podNamespace] = pod.split('/')
  return {
    containerId: containerId ?? `cli-${netns.split('/').at(-1)}`,
    netnsPath: netns.includes('/') ? netns : `/run/netns/${netns}`,
    ifName: ifname,
    podNamespace,
    podName,
    podUid: '',
    ...(publish.length > 0 && { portMappings: publish }),
  }
}

/** The caller of a command that waits for plugins and may interrupt them. */
export interface CniUser {
  tell(line: string): void
  /** Aborts at the first interrupt: running plugins end and are undone. */
  readonly ended: AbortSignal
  /** Aborts at the second interrupt: nothing more is undone. */
  readonly insisted: AbortSignal
}

/** Creates a CNI runtime with the agent's settings and an owner of its own, so that the agent leaves its attachments alone. */
export function cniRuntimeOfCli({ values }: Options, { tell, ended, insisted }: CniUser): CniRuntime {
  const { cniConfDir: configDir, cniBinDir: binDirs, cniCacheDir: cacheDir } = values.cni
  const log: Logger = {
    ...silentLogger,
    warn: (message, { error } = {}) =>
      tell(`warning: ${message}${error === undefined ? '' : `: ${describeError(error)}`}`),
  }
  const runtime = new CniRuntime({
    configDir,
    binDirs,
    cacheDir,
    owner: 'platnet-cli',
    log,
    stop: { work: ended, undoing: insisted },
    onSlow: (call) => {
      const { failure } = runtime.stallReasonOf(call.containerId ?? '') ?? {}
      const why = failure === undefined ? '' : `; it undoes what failed: ${failure}`
      tell(`waiting for ${Math.round((Date.now() - call.sinceMs) / 1000)} s: ${describeRunning(call)}${why}`)
    },
  })
  return runtime
}

/** Probes everything that `platnet cni doctor` reports; changes nothing. */
export async function examineCni(options: Options, user: CniUser): Promise<readonly Finding[]> {
  const bridge = (await probeSysctls()).filter(({ what }) => what.includes('bridge-nf-call'))
  return [...(await examineNetworks(cniRuntimeOfCli(options, user))), ...bridge]
}

interface Repairs {
  readonly done: readonly string[]
  readonly failures: readonly string[]
}

/** Repairs what `--fix` can repair. Resolves with one line for each repair and one for each failure. */
export async function repairCni(options: Options, user: CniUser): Promise<Repairs> {
  const linked = await offerPackagedPlugins(options.values.cni.cniBinDir)
  const { done, failures } = await cleanCni(options, user)
  const sysctl = await allowBridgeFiltering()
  return {
    done: [...linked.map((name) => `linked ${name} into ${options.values.cni.cniBinDir[0]}`), ...done, ...sysctl.done],
    failures: [...failures, ...sysctl.failures],
  }
}

/** Releases attachments and addresses whose namespace is gone. Resolves with one line for each release and one for each failure. */
export async function cleanCni(options: Options, user: CniUser): Promise<Repairs> {
  const runtime = cniRuntimeOfCli(options, user)
  const first = await runtime.garbage.clean(await runtime.garbage.leftovers())
  // Addresses that a DEL cannot release without its namespace become visible only after that DEL.
  const { released } = await runtime.garbage.clean(await runtime.garbage.leftovers())
  return {
    done: [...first.deleted.map((attachment) => `undid ${attachment}`), ...first.released, ...released],
    failures: first.errors.map(describeError),
  }
}

async function allowBridgeFiltering(): Promise<Repairs> {
  const wishes = nodeSysctls.filter(({ name }) => name.startsWith('net/bridge/'))
  const [before] = await probeSysctls().then((all) => all.filter(({ what }) => what.includes('bridge-nf-call')))
  if (before?.level === 'ok') return { done: [], failures: [] }
  // The setting exists only once the module is loaded; built in, there is nothing to load.
  await runProgram('modprobe', ['br_netfilter'], { timeoutMs: 10_000 }).catch(() => {})
  const results = await applySysctls(wishes)
  return {
    done: results.filter(({ problem }) => problem === undefined).map(({ name, wanted }) => `set ${name} to ${wanted}`),
    failures: results.flatMap(({ name, problem }) => (problem === undefined ? [] : [`${name}: ${problem}`])),
  }
}
