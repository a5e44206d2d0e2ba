import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { runProgram } from '../../../src/host/index.ts'
import { findFreePort } from '../../helpers/free-port.ts'
import { httpGet } from '../../helpers/http-get.ts'
import { lackOfPeer } from '../../helpers/kubernetes-peer.ts'
import { untilAsync } from '../../helpers/until.ts'
import { startHollowCluster } from './hollow-kubelet.ts'
import { startPeerCluster } from './peer-cluster.ts'
import {
  accountKubeconfig,
  ClientProgram,
  type ClientsCluster,
  kubectl,
  missingPrograms,
  programFile,
  sourceFile,
} from './programs.ts'

const program = 'kube-state-metrics'
const deadlineMs = 120_000
const files = join(import.meta.dirname, 'state-metrics')

/** What it counts when it is asked to. */
const more = [
  ...['clusterrolebindings', 'clusterroles', 'endpoints', 'ingressclasses'],
  ...['rolebindings', 'roles', 'serviceaccounts'],
]
/** Objects of the test that are in no namespace, by their kinds in the names of the metrics. */
const clusterObjects =
  /^kube_(namespace|node|persistentvolume|storageclass|volumeattachment|ingressclass|clusterrole|clusterrolebinding|certificatesigningrequest)_[^{]*\{[^}]*"(shop|node-\d|disk-\d|share|share-node-1|disks|edge|shop-auditor|shop-client)"/

/** What the test changes in both clusters. */
const changes = [
  'scale deployment web --replicas=5',
  'set image statefulset/store main=store:2',
  'rollout resume deployment paused',
  'delete service away',
  'delete job once',
  'patch job held -p {"spec":{"suspend":false}}',
  'patch hpa web -p {"spec":{"maxReplicas":7}}',
  'patch pod bare -p {"spec":{"schedulingGates":null}}',
  'label configmap settings app-',
  'certificate approve shop-client',
  'taint node node-2 example.com/full=yes:NoExecute',
  'uncordon node-2',
].map((line) => ['--namespace', 'shop', ...line.split(' ')])

/** Labels and annotations that only Kubernetes writes (docs/differences.md). */
const unwritten =
  /,(annotation_deprecated_daemonset_template_generation|label_pod_template_generation|annotation_node_alpha_kubernetes_io_ttl|annotation_kubernetes_io_description)="[^"]*"/g

/** The collectors that run unless a flag says otherwise, by the program's help. */
async function defaultResources(): Promise<readonly string[]> {
  const { stdout } = await runProgram(programFile(program) ?? '', ['--help'], { timeoutMs: 20_000 })
  return (/--resources .*Defaults to "([^"]+)"/.exec(stdout)?.[1] ?? '').split(',')
}

/** A cluster with the test's objects, and kube-state-metrics with the roles that its authors publish. */
class Counted {
  readonly cluster: ClientsCluster
  readonly #port: number
  readonly #telemetryPort: number
  #counter: ClientProgram | undefined

  constructor(cluster: ClientsCluster, ports: readonly [number, number]) {
    this.cluster = cluster
    ;[this.#port, this.#telemetryPort] = ports
  }

  get counter(): ClientProgram {
    assert.ok(this.#counter)
    return this.#counter
  }

  async start(stack: AsyncDisposableStack, resources: readonly string[]): Promise<void> {
    const run = (...args: readonly string[]) => kubectl(this.cluster, args)
    await run('label', 'node', 'node-1', 'disk=fast')
    await run('cordon', 'node-2')
    await run('apply', '-k', sourceFile(program, 'examples/standard'))
    await run('apply', '-f', join(files, 'cluster-objects.yaml'))
    await untilAsync(
      'the account is there',
      async () => (await this.get('/api/v1/namespaces/shop/serviceaccounts/default')).code === 200,
      deadlineMs,
    )
    await run('apply', '-n', 'shop', '-f', join(files, 'objects.yaml'))
    const config = await accountKubeconfig(this.cluster, 'kube-system', program)
    const args = [
      ...[`--kubeconfig=${config}`, '--host=127.0.0.1', '--telemetry-host=127.0.0.1', `--port=${this.#port}`],
      ...[`--telemetry-port=${this.#telemetryPort}`, `--resources=${resources.join(',')}`],
      ...['--metric-labels-allowlist=*=[*]', '--metric-annotations-allowlist=*=[*]'],
    ]
    this.#counter = stack.use(new ClientProgram(program, args, this.cluster))
    await untilAsync('it answers', () => this.#isReady(), deadlineMs)
  }

  #isReady(): Promise<boolean> {
    const probes = [this.#read(this.#port, '/livez'), this.#read(this.#telemetryPort, '/readyz')]
    return Promise.all(probes).then(
      (answers) => answers.every(({ status }) => status === 200),
      () => false,
    )
  }

  get(path: string) {
    return this.cluster.admin.call('GET', path)
  }

  #read(port: number, path: string) {
    return httpGet({ host: '127.0.0.1', port, path })
  }

  /** Requests by their results, of one kind (`list` or `watch`). */
  async requests(kind: string): Promise<readonly string[]> {
    const { body } = await this.#read(this.#telemetryPort, '/metrics')
    return body.split('\n').filter((line) => line.startsWith(`kube_state_metrics_${kind}_total{`))
  }

  /** The samples of the test's objects, less what is made up: sorted. */
  async samples(): Promise<readonly string[]> {
    const { body } = await this.#read(this.#port, '/metrics')
    return body
      .split('\n')
      .filter((line) => /[{,]namespace="shop"/.test(line) || clusterObjects.test(line))
      .map(withoutChance)
      .toSorted()
  }
}

/** Times, identities, addresses and ends of names differ from one cluster to another. */
function withoutChance(sample: string): string {
  return (
    sample
      .replaceAll(unwritten, '')
      // A controller that comes later to a Service takes the annotation away.
      .replace(/,annotation_endpoints_kubernetes_io_last_change_trigger_time="[^"]*"/, '')
      .replace(/^(kube_\w+_metadata_resource_version\{.*\}) .*/, '$1 N')
      .replace(/ 1\.\d+e\+09$/, ' TIME')
      .replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/g, 'TIME')
      .replaceAll(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, 'UID')
      .replaceAll(/\b10\.\d+\.\d+\.\d+\b/g, 'IP')
      .replaceAll(/"((?:web|paused|front|store|agent|old|once|held-\d)-)[a-z0-9]{5,10}(-[a-z0-9]{5})?"/g, '"$1XXX"')
      .replaceAll(/(_hash=")[a-z0-9]+"/g, '$1HASH"')
  )
}

describe('kube-state-metrics', {
  skip: missingPrograms(program, 'kube-controller-manager', 'kube-scheduler') || (lackOfPeer() ?? false),
}, () => {
  const stack = new AsyncDisposableStack()
  const nodes = ['node-1', 'node-2']
  let ours: Counted
  let theirs: Counted

  const differences = async (): Promise<readonly string[]> => {
    const [own, other] = [await ours.samples(), await theirs.samples()]
    return [
      ...own.filter((line) => !other.includes(line)).map((line) => `+ ${line}`),
      ...other.filter((line) => !own.includes(line)).map((line) => `- ${line}`),
    ]
  }
  /** Waits for that, and shows what differs where it does not come. */
  const untilEqual = async () => {
    await untilAsync('nothing differs', async () => (await differences()).length === 0, deadlineMs).catch(async () => {
      assert.equal((await differences()).join('\n'), '')
    })
  }

  before(async () => {
    const resources = await defaultResources()
    assert.ok(resources.length > 20)
    const ports = async () => [await findFreePort(), await findFreePort()] as const
    ours = new Counted(await startHollowCluster(stack, nodes), await ports())
    await ours.start(stack, [...resources, ...more])
    theirs = new Counted(await startPeerCluster(stack, nodes), await ports())
    await theirs.start(stack, [...resources, ...more])
  })
  after(() => stack.disposeAsync())

  test('counts of the same objects what it counts of them in Kubernetes', async () => {
    await untilEqual()
    const families = new Set((await ours.samples()).map((line) => line.replace(/\{.*/, '')))
    assert.ok(families.size > 150, `${families.size} families`)
  })

  test('follows changes as it does in Kubernetes', async () => {
    for (const { cluster } of [ours, theirs]) for (const args of changes) await kubectl(cluster, args)
    await untilEqual()
    const samples = await ours.samples()
    for (const wanted of ['kube_deployment_spec_replicas{namespace="shop",deployment="web"} 5', /job_name="held"\} 1/])
      assert.ok(
        samples.some((line) => (typeof wanted === 'string' ? line === wanted : wanted.test(line))),
        `${wanted}`,
      )
  })

  test('lists and watches every kind without an error', async () => {
    for (const kind of ['list', 'watch']) {
      const requests = await ours.requests(kind)
      assert.ok(requests.length > 30)
      assert.deepEqual(
        requests.filter((line) => !line.includes('result="success"')),
        [],
      )
    }
    assert.deepEqual(ours.counter.complaints(), [])
  })
})
