import type { ListenAddress } from '../../config/index.ts'
import {
  type Finding,
  nodePrograms,
  probePorts,
  probePrivilege,
  probePrograms,
  probeSysctls,
  type Run,
  runProgram,
} from '../../host/index.ts'
import { PlatnetError } from '../../model/errors.ts'
import { isNetworkOurs, shippedBridge } from '../../node/cni/index.ts'
import { hasOurRules, probeForwarding, probeIptables, probeNftables, probePolicyRules } from '../../node/rules/index.ts'
import { createModeChooser, type ModeChooser } from '../composition/proxy-mode-choice.ts'
import { wantedSysctls } from '../composition/wanted-sysctls.ts'
import type { AppContext, Options } from '../context.ts'
import { agentListener, consoleListenersOf, listenersOf } from '../listeners.ts'

class CheckError extends PlatnetError<'not-fit' | 'EPERM'> {}

export interface HostCheck {
  readonly findings: readonly Finding[]
  readonly lacksPrivilege: boolean
}

/** Probes everything that `platnet check` reports; changes nothing. */
export async function checkHost(options: Options): Promise<HostCheck> {
  const { app, pods, proxy } = options.values
  const lacksPrivilege = (await probePrivilege()).some(isFailure)
  const findings = [
    ...(await checkPrograms(options)),
    ...(await probeSysctls(wantedSysctls(options))),
    ...(await probePorts(listenersOf(options))),
    ...(await probePorts(consoleListenersOf(options))).map(toBearable),
  ]
  if (!lacksPrivilege && app.components.includes('proxy')) findings.push(...(await checkForwarding(options)))
  if (!lacksPrivilege && app.components.includes('proxy')) findings.push(...(await probeNftables(proxy.proxyMode)))
  if (!lacksPrivilege && app.components.includes('policy')) findings.push(...(await probePolicyRules()))
  if (app.components.includes('ingress')) findings.push(...(await checkIngress(options)))
  if (app.components.includes('pods')) findings.push(describePods(pods.runPods))
  return { findings, lacksPrivilege }
}

/** Reports the programs that a node needs in the mode that its proxy would choose. */
async function checkPrograms(options: Options): Promise<readonly Finding[]> {
  const modes = createModeChooser(options.values.proxy.proxyMode, runProgram)
  try {
    return await checkNode(options, { run: runProgram, modes, probeRules: probeIptables })
  } finally {
    await modes.stop()
  }
}

/** Reports the proxy of Ingresses and its addresses. None of it keeps an agent from its start, so nothing fails. */
async function checkIngress({ values: { ingress } }: Options): Promise<readonly Finding[]> {
  const listener = (option: string) => (address: ListenAddress) =>
    ({ protocol: 'tcp', address: address.ip, port: address.port, option, ipv6Only: true }) as const
  const findings = await probePorts([
    ...ingress.ingressHttpAddresses.map(listener('--ingress-http-addresses')),
    ...ingress.ingressHttpsAddresses.map(listener('--ingress-https-addresses')),
  ])
  return [await findHaproxy(), ...findings.map(toBearable)]
}

/** Reports a port that something else has as a warning: the part starts without it. */
function toBearable(finding: Finding): Finding {
  return isFailure(finding) ? { ...finding, level: 'warn' } : finding
}

async function findHaproxy(run: Run = runProgram): Promise<Finding> {
  try {
    const { stdout } = await run('haproxy', ['-v'], { timeoutMs: 5_000 })
    const version = /version (\S+)/.exec(stdout)?.[1] ?? 'of an unknown version'
    return { level: 'ok', what: `haproxy ${version} is installed` }
  } catch {
    const what = 'haproxy is not installed: the agent serves Ingresses in its own process, with several times the CPU'
    return { level: 'warn', what, remedy: 'apt-get install haproxy' }
  }
}

/**
 * Probes the host at the start of an agent, without what the start itself detects. Logs each warning; a failure ends the start.
 * Kernel matches are not probed where our rules stand: the start that wrote them has proved that they work; nor in the mode nftables, which writes to
 * iptables after everything else, and says what fails there.
 */
export async function checkBeforeStart(
  context: AppContext,
  run: Run,
  modes: Pick<ModeChooser, 'choose'>,
): Promise<void> {
  const log = context.logging.logger('platform_kubelet').child('check')
  const { options } = context
  const isProven = async () => !(await needsIptables(options, modes)) || (await hasOurRules(run))
  const findings = await checkNode(options, {
    run,
    modes,
    probeRules: async () => ((await isProven()) ? [] : probeIptables(run)),
  })
  for (const { level, what, remedy } of findings) if (level === 'warn') log.warn(what, { remedy })
  const failed = findings.find(isFailure)
  if (!failed) return
  const isPrivilege = (await probePrivilege()).some(isFailure)
  throw new CheckError(isPrivilege ? 'EPERM' : 'not-fit', failed.what, failed.remedy ? { remedy: failed.remedy } : {})
}

/** Throws CheckError EPERM where this process may not change network settings, before anything has started. */
export async function requirePrivilege(): Promise<void> {
  const failed = (await probePrivilege()).find(isFailure)
  if (failed) throw new CheckError('EPERM', failed.what, failed.remedy ? { remedy: failed.remedy } : {})
}

/**
 * Throws CheckError where another program has the port of the agent: the supervisor would start the agent again and again. An earlier
 * agent that still ends is waited for by those starts.
 */
export async function requireAgentPort({ values }: Options): Promise<void> {
  const [finding] = await probePorts([agentListener(values.node)])
  if (finding && isFailure(finding))
    throw new CheckError('not-fit', finding.what, finding.remedy ? { remedy: finding.remedy } : {})
}

interface NodeCheck {
  readonly run: Run
  readonly modes: Pick<ModeChooser, 'choose'>
  readonly probeRules: (run: Run) => Promise<readonly Finding[]>
}

async function checkNode(options: Options, { run, modes, probeRules }: NodeCheck): Promise<readonly Finding[]> {
  const privilege = await probePrivilege()
  if (privilege.some(isFailure)) return privilege
  const isIptables = ({ package: name }: (typeof nodePrograms)[number]) => name === 'iptables'
  const [others, iptables] = await Promise.all([
    probePrograms(
      nodePrograms.filter((program) => !isIptables(program)),
      run,
    ),
    Promise.all([probePrograms(nodePrograms.filter(isIptables), run), probeRules(run)]),
  ])
  const found = iptables.flat()
  return [...privilege, ...others, ...((await needsIptables(options, modes)) ? found : found.map(toBearable))]
}

/** The mode nftables, also one that `auto` chooses, needs iptables only to accept what policies of others in its tables would refuse. */
async function needsIptables({ values: { app, proxy } }: Options, modes: NodeCheck['modes']): Promise<boolean> {
  if (app.components.includes('policy')) return true
  if (proxy.proxyMode !== 'auto' || !app.components.includes('proxy')) return proxy.proxyMode !== 'nftables'
  return (await modes.choose('IPv4')).name === 'iptables'
}

async function checkForwarding({ values: { app, cni, dns, node, proxy } }: Options): Promise<readonly Finding[]> {
  const isOurs = await isNetworkOurs(cni.cniConfDir, app.components.includes('pods'))
  const { acceptPodTraffic: when } = proxy
  const networks = {
    podCidrs: node.clusterCidr,
    dnsAddresses: app.components.includes('dns') ? dns.clusterDns : [],
    ...(isOurs && { podLink: shippedBridge }),
  }
  return probeForwarding({ networks, willAccept: when === 'always' || (when === 'auto' && isOurs) })
}

/** Reports whether this node runs pods. Neither value is a fault. */
function describePods(isOn: boolean): Finding {
  const what = isOn
    ? 'running pods is on (--run-pods): those of namespaces with the label pods.<platform domain>/run=true are processes of this machine'
    : 'running pods is off: pods that are bound to this node wait (--run-pods)'
  return { level: 'ok', what }
}

function isFailure({ level }: Finding): boolean {
  return level === 'fail'
}
