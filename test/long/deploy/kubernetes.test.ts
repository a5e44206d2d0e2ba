import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { text } from 'node:stream/consumers'
import { after, before, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseAllDocuments } from 'yaml'
import { buildArchive, writeManifest } from '../../helpers/agent-manifest.ts'
import { skipReason } from '../../helpers/netns.ts'
import { missingCluster, RealCluster } from '../../helpers/real-cluster.ts'
import { untilAsync } from '../../helpers/until.ts'
import type { ServiceLoad } from './service-load.program.ts'

const root = resolve(import.meta.dirname, '../../..')
const skip = skipReason('podman', 'crun', 'debootstrap', 'kubectl') || missingCluster('kube-proxy', 'coredns')
const [service, dns, name] = ['10.96.0.80', '10.96.0.10', 'web.default.svc.cluster.local']
/** Services with the same pods, each of which gets its share of the new connections. */
const others = Array.from({ length: 299 }, (_, index) => `10.96.${1 + (index >> 7)}.${1 + (index & 127)}`)
/** New connections a second, from the node and from a pod each. */
const perSecond = Number(process.env['PLATNET_TEST_CONNECTIONS'] ?? 250)
/** How long the load goes on before, between and after the changes. */
const settleMs = 10_000

/** The commands under a heading of docs/kubernetes-install.md. */
function commandsOf(heading: string): string {
  const [, section = ''] = readFileSync(join(root, 'docs/kubernetes-install.md'), 'utf8').split(`\n## ${heading}\n`)
  const [, commands] = /```sh\n([^`]*)```/.exec(section) ?? []
  assert.ok(commands, `docs/kubernetes-install.md has commands under ${heading}`)
  return commands
}

interface AuditEvent {
  readonly verb: string
  readonly objectRef?: { readonly resource: string; readonly subresource?: string }
  readonly responseStatus?: { readonly code: number }
}

describe('the manifests in a cluster of Kubernetes, in place of kube-proxy, restarted, and back', { skip }, () => {
  let folder = ''
  let cluster: RealCluster
  let loads: readonly ServiceLoad[] = []
  let rules: Readonly<Record<'before' | 'ours' | 'after', string>>
  let audit: readonly AuditEvent[] = []

  async function createOthers(): Promise<void> {
    const items = others.map((clusterIP, index) => ({
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: `other-${index}` },
      spec: { clusterIP, selector: { app: 'web' }, ports: [{ port: 80, targetPort: 8080 }] },
    }))
    const file = join(folder, 'others.json')
    writeFileSync(file, JSON.stringify({ apiVersion: 'v1', kind: 'List', items }))
    await cluster.kubectl('create', '-f', file)
    // The slices come at 20 a second; without endpoints a Service refuses.
    const isWritten = async () => (await readRules()).split('-j KUBE-SEP-').length > 2 * (others.length + 1)
    await untilAsync('all Services have endpoints', isWritten, 120_000)
  }

  /** The step that began at each time. */
  const steps: string[] = []
  const note = (step: string) => steps.push(`${new Date().toISOString()} ${step}`)

  async function follow(heading: string): Promise<void> {
    for (const command of commandsOf(heading).replaceAll('\\\n', ' ').trim().split('\n')) {
      note(command)
      await cluster.run('sh', '-ec', `cd '${folder}'; ${command}`)
    }
    note('the commands are done')
  }
  const readRules = () => cluster.run('iptables-save')

  /** As after a change of the ConfigMap. */
  async function restartAgent(): Promise<void> {
    note('the agent is restarted')
    await cluster.kubectl('-n', 'kube-system', 'rollout', 'restart', 'daemonset', 'platnet')
    await cluster.kubectl('-n', 'kube-system', 'rollout', 'status', 'daemonset', 'platnet', '--timeout=5m')
    note('the agent is restarted: done')
  }

  /** From the node, and from a pod. The result ends the load. */
  async function startLoads(): Promise<() => Promise<readonly ServiceLoad[]>> {
    const target = [[service, ...others].join(','), dns, name, String(perSecond)]
    const address = await cluster.kubectl('get', 'pod', 'client', '-o', 'jsonpath={.status.podIP}')
    const program = [process.execPath, join(import.meta.dirname, 'service-load.program.ts'), ...target]
    const namespace = await cluster.namespaceOf(address)
    const programs = await Promise.all([
      cluster.start('env', ...program),
      cluster.start('ip', 'netns', 'exec', namespace, ...program),
    ])
    return async () => {
      for (const { stdin } of programs) stdin?.end()
      const lines = await Promise.all(programs.map(({ stdout }) => (stdout === null ? '' : text(stdout))))
      return lines.map((line) => JSON.parse(line))
    }
  }

  before(async () => {
    folder = mkdtempSync('/var/tmp/plt-kubernetes-')
    const archive = await buildArchive(folder)
    cluster = await RealCluster.start({ PLANE: 'none' })
    await cluster.run('ctr', '-n', 'k8s.io', 'images', 'import', archive)
    await cluster.kubectl('apply', '-f', join(root, 'conformance/cluster/peers.yaml'))
    await cluster.kubectl('apply', '-f', join(import.meta.dirname, 'web.yaml'))
    await cluster.kubectl('-n', 'kube-system', 'rollout', 'status', 'daemonset', 'kube-proxy', '--timeout=2m')
    await cluster.kubectl('-n', 'kube-system', 'rollout', 'status', 'deployment', 'coredns', '--timeout=2m')
    await cluster.kubectl('rollout', 'status', 'deployment', 'web', '--timeout=2m')
    await cluster.kubectl('wait', '--for=condition=Ready', 'pod/client', '--timeout=2m')
    await createOthers()
    await writeManifest(cluster, folder)
    const endLoads = await startLoads()
    await sleep(settleMs)
    const rulesBefore = await readRules()
    await follow('From kube-proxy to Platnet')
    const ours = await readRules()
    await sleep(settleMs)
    await restartAgent()
    await sleep(settleMs)
    await follow('Back to kube-proxy')
    rules = { before: rulesBefore, ours, after: await readRules() }
    await sleep(settleMs)
    loads = await endLoads()
    const lines = readFileSync(join(cluster.state, 'logs/audit.log'), 'utf8').trimEnd().split('\n')
    audit = lines.map((line) => JSON.parse(line))
  })
  after(async () => {
    await cluster?.[Symbol.asyncDispose]()
    rmSync(folder, { recursive: true, force: true })
  })

  test('Not one request to a Service and not one query is refused or lost, from the node and from a pod.', (context) => {
    assert.equal(loads.length, 2)
    const describe = ({ asked, slowestMs }: ServiceLoad['fresh']) => `${asked} (slowest ${slowestMs} ms)`
    for (const { fresh, held, names } of loads)
      context.diagnostic(`new ${describe(fresh)}, held ${describe(held)}, names ${describe(names)}`)
    const slow = loads.flatMap(({ fresh, held, names }) => [fresh, held, names].flatMap((seen) => seen.slow))
    if (slow.length > 0) for (const line of [...steps, ...slow].sort()) context.diagnostic(line)
    for (const { fresh, held, names } of loads) {
      assert.ok(fresh.asked > 5_000, `${fresh.asked} new connections`)
      for (const seen of [fresh, held, names]) {
        assert.ok(seen.asked > 500, `${seen.asked} were asked`)
        assert.deepEqual(seen.failures, [])
      }
    }
  })

  test('Connections last from before the first change until after the last.', () => {
    for (const { connectionsOfHeld } of loads) assert.equal(connectionsOfHeld, 5)
  })

  test('Each has its own rules while it runs, and none of the other.', () => {
    const owners = (text: string) => ({ kube: /^-A KUBE-SVC-/m.test(text), platnet: /PLAT-/.test(text) })
    assert.deepEqual(owners(rules.before), { kube: true, platnet: false })
    assert.deepEqual(owners(rules.ours), { kube: false, platnet: true })
    assert.deepEqual(owners(rules.after), { kube: true, platnet: false })
  })

  test('The API server refuses the agent nothing, and the agent uses every right to list and to watch that it has.', () => {
    assert.deepEqual(
      audit.filter(({ responseStatus }) => responseStatus?.code === 403),
      [],
    )
    const used = new Set(audit.map(({ verb, objectRef }) => `${verb} ${objectRef?.resource}`))
    const granted = parseAllDocuments(readFileSync(join(root, 'deploy/kubernetes/rbac.yaml'), 'utf8'))
      .flatMap((document) => (document.toJS().rules ?? []) as readonly { resources: string[]; verbs: string[] }[])
      .filter(({ verbs }) => verbs.includes('watch'))
      .flatMap(({ resources, verbs }) => resources.flatMap((each) => verbs.map((verb) => `${verb} ${each}`)))
    assert.deepEqual(
      granted.filter((right) => !used.has(right)),
      [],
    )
  })
})
