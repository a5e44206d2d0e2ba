import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import { gunzipSync } from 'node:zlib'
import { findFreePort } from '../../helpers/free-port.ts'
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
  sourceFile,
} from './programs.ts'

const program = 'prometheus-operator'
const deadlineMs = 90_000
const nodes = ['node-1', 'node-2', 'node-3']
const core = '/api/v1/namespaces/watch'
const sets = '/apis/apps/v1/namespaces/watch/statefulsets'
const group = '/apis/monitoring.coreos.com/v1/namespaces/watch'

// biome-ignore lint/suspicious/noExplicitAny: tests look into any object
type AnyObject = any

/** A cluster with prometheus-operator as its bundle installs it, but for the place where it runs. */
class Monitored {
  readonly cluster: ClientsCluster
  #operator: ClientProgram | undefined

  constructor(cluster: ClientsCluster) {
    this.cluster = cluster
  }

  get operator(): ClientProgram {
    assert.ok(this.#operator)
    return this.#operator
  }

  async start(stack: AsyncDisposableStack): Promise<void> {
    await this.kubectl('apply', '--server-side', '-f', sourceFile(program, 'bundle.yaml'))
    await this.kubectl('wait', '--for=condition=Established', 'crd', '--all')
    await this.kubectl('scale', 'deployment', program, '--replicas=0')
    await this.kubectl('create', 'namespace', 'watch')
    const account = await accountKubeconfig(this.cluster, 'default', program)
    const args = [
      ...['--kubelet-service=kube-system/kubelet', '--kubelet-endpoints=true'],
      ...['--feature-gates=StatusForConfigurationResources=true', '--log-format=json'],
      `--web.listen-address=127.0.0.1:${await findFreePort()}`,
    ]
    this.#operator = stack.use(new ClientProgram(program, args, this.cluster, { KUBECONFIG: account }))
    await this.kubectl('apply', '-n', 'watch', '-f', join(import.meta.dirname, 'monitoring/objects.yaml'))
  }

  kubectl(...args: readonly string[]): Promise<string> {
    return kubectl(this.cluster, args)
  }

  async get(path: string): Promise<AnyObject> {
    return (await this.cluster.admin.call('GET', path)).body
  }

  patch(path: string, body: object) {
    return this.cluster.admin.call('PATCH', path, body)
  }

  /** The configuration that it wrote into a Secret. */
  async configuration(secret: string, key: string): Promise<string> {
    const { data } = await this.get(`${core}/secrets/${secret}`)
    return data?.[key] === undefined ? '' : unzip(data[key])
  }

  async isAvailable(path: string): Promise<boolean> {
    const { metadata, status } = await this.get(path)
    return ['Available', 'Reconciled'].every((type) =>
      status?.conditions?.some(
        (each: AnyObject) =>
          each.type === type && each.status === 'True' && each.observedGeneration === metadata.generation,
      ),
    )
  }

  /** The lines with which it reports a warning or an error, less lost races and what the test's mistake brings. */
  complaints(): readonly string[] {
    const lines = this.operator.log.split('\n').filter((line) => /"level":"(warn|error)"|^[EWF]\d{4} /i.test(line))
    const expected = /the object has been modified|finalizer: .* not found|secrets \\"missing|"watch\/wrong"/
    return lines.filter((line) => !expected.test(line))
  }

  untilAvailable(path: string): Promise<void> {
    return untilAsync(`${path} is available`, () => this.isAvailable(path), deadlineMs)
  }

  /** What the operator made, less what is made up. */
  async made(): Promise<Readonly<Record<string, AnyObject>>> {
    const paths = [
      sets,
      `${core}/secrets`,
      `${core}/services`,
      `${core}/configmaps`,
      '/api/v1/namespaces/kube-system/endpoints',
    ]
    const lists = await Promise.all(paths.map((path) => this.get(path)))
    const objects = lists.flatMap(({ kind, items }) =>
      items
        .filter(({ metadata }: AnyObject) => metadata.name !== 'kube-root-ca.crt')
        .map((item: AnyObject) => [`${kind} ${item.metadata.name}`, withoutChance(item)] as const),
    )
    return Object.fromEntries(objects)
  }
}

function withoutChance({ metadata, spec, data, subsets, type }: AnyObject): AnyObject {
  const { name, labels, annotations, ownerReferences } = metadata
  const texts = Object.entries(data ?? {}).map(([key, value]) => [key, key.endsWith('.gz') ? unzip(`${value}`) : value])
  const kept = { metadata: { name, labels, annotations, ownerReferences }, spec, data: texts, subsets, type }
  const text = JSON.stringify(kept)
    .replaceAll(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, 'UID')
    .replaceAll(/"10\.\d+\.\d+\.\d+"/g, '"IP"')
    // It counts names of files in, which hold a UID.
    .replaceAll(/(input-hash":")\d+/g, '$1HASH')
  return JSON.parse(text)
}

function unzip(value: string): string {
  return gunzipSync(Buffer.from(value, 'base64')).toString()
}

const available = [
  ...['prometheuses/main', 'alertmanagers/main', 'thanosrulers/rules'].map((each) => `${group}/${each}`),
  '/apis/monitoring.coreos.com/v1alpha1/namespaces/watch/prometheusagents/agent',
]

describe("prometheus-operator with its bundle's roles", { skip: missingPrograms(program) }, () => {
  const stack = new AsyncDisposableStack()
  let monitored: Monitored
  before(async () => {
    monitored = new Monitored(await startHollowCluster(stack, nodes))
    await monitored.start(stack)
  })
  after(() => stack.disposeAsync())

  const eventually = (what: string, holds: () => Promise<boolean>) => untilAsync(what, holds, deadlineMs)
  const configuration = () => monitored.configuration('prometheus-main', 'prometheus.yaml.gz')

  test('makes of its objects StatefulSets whose pods run, and says so in their status', async () => {
    for (const path of available) await monitored.untilAvailable(path)
    const running = [
      ['alertmanager-main', 3],
      ['prom-agent-agent', 1],
      ['prometheus-main', 2],
      ['thanos-ruler-rules', 1],
    ]
    // The operator changes them once more while their first pods come up.
    await eventually('all run', async () => {
      const { items } = await monitored.get(sets)
      const ready = items.map(({ metadata, status }: AnyObject) => [metadata.name, status.readyReplicas])
      return isDeepStrictEqual(ready, running)
    })
  })

  test('writes what monitors, probes, rules and the configuration of alerts say', async () => {
    const texts = [
      'serviceMonitor/watch/web/0',
      'podMonitor/watch/web/0',
      'probe/watch/site',
      'scrapeConfig/watch/away',
    ]
    await eventually('all jobs are there', async () => {
      const text = await configuration()
      return texts.every((job) => text.includes(`job_name: ${job}`))
    })
    assert.match(await configuration(), /password: a secret/)
    const rules = await monitored.get(`${core}/configmaps/prometheus-main-rulefiles-0`)
    assert.match(Object.values(rules.data).join(), /alert: Always/)
    const alerts = await monitored.configuration('alertmanager-main-generated', 'alertmanager.yaml.gz')
    assert.match(alerts, /url: http:\/\/hooks\.example\.com/)
  })

  test('lists the nodes as endpoints of kubelets', async () => {
    const { subsets } = await monitored.get('/api/v1/namespaces/kube-system/endpoints/kubelet')
    assert.deepEqual(
      subsets[0].addresses.map(({ ip, targetRef }: AnyObject) => [ip, targetRef.name]),
      nodes.map((name, index) => [`192.0.2.${1 + index}`, name]),
    )
    const { items } = await monitored.get(
      '/apis/discovery.k8s.io/v1/namespaces/kube-system/endpointslices?labelSelector=kubernetes.io/service-name=kubelet',
    )
    assert.deepEqual(
      items.map(({ endpoints }: AnyObject) => endpoints.length),
      [3],
    )
  })

  test('follows a monitor, its Secret, a rule and the number of shards, asked for by /scale', async () => {
    await monitored.patch(`${group}/servicemonitors/web`, { spec: { selector: { matchLabels: { app: 'other' } } } })
    await eventually('the new selector is there', async () => /regex: \(other\)/.test(await configuration()))
    await monitored.patch(`${core}/secrets/scraper`, { stringData: { password: 'another secret' } })
    await eventually('the new password is there', async () => /password: another secret/.test(await configuration()))
    await monitored.kubectl('scale', '-n', 'watch', 'prometheus/main', '--replicas=2')
    const shard = `${sets}/prometheus-main-shard-1`
    await eventually('a second shard runs', async () => (await monitored.get(shard)).status?.readyReplicas === 2)
    await monitored.untilAvailable(`${group}/prometheuses/main`)
    const { status } = await monitored.get(`${group}/prometheuses/main/scale`)
    assert.equal(status.replicas, 2)
  })

  test('says in the status of a monitor who uses it', async () => {
    await eventually('it is there', async () => {
      const { status } = await monitored.get(`${group}/servicemonitors/web`)
      return status?.bindings?.some(
        ({ name, conditions }: AnyObject) => name === 'main' && conditions[0]?.status === 'True',
      )
    })
  })

  test('refuses a monitor that names a Secret that is not there, and says so in an event', async () => {
    const password = { name: 'missing', key: 'password' }
    const spec = { selector: {}, endpoints: [{ port: 'web', basicAuth: { username: password, password } }] }
    const monitor = { metadata: { name: 'wrong', labels: { team: 'frontend' } }, spec }
    const body = { apiVersion: 'monitoring.coreos.com/v1', kind: 'ServiceMonitor', ...monitor }
    assert.equal((await monitored.cluster.admin.call('POST', `${group}/servicemonitors`, body)).code, 201)
    await eventually('the event is there', async () => {
      const { items } = await monitored.get(`${core}/events?fieldSelector=reason%3DInvalidConfiguration`)
      return items.some(({ message }: AnyObject) => message.includes('missing'))
    })
    await monitored.cluster.admin.call('DELETE', `${group}/servicemonitors/wrong`)
  })

  test('puts back a StatefulSet that was deleted or changed, with and without its pods', async () => {
    const uidOf = async (name: string) => (await monitored.get(`${sets}/${name}`)).metadata?.uid
    const before = await uidOf('alertmanager-main')
    await monitored.kubectl('delete', '-n', 'watch', 'statefulset', 'alertmanager-main', '--cascade=orphan')
    await eventually('it is back', async () => ![undefined, before].includes(await uidOf('alertmanager-main')))
    await monitored.untilAvailable(`${group}/alertmanagers/main`)
    await monitored.patch(`${sets}/prometheus-main`, { spec: { replicas: 1 } })
    await eventually('two run', async () => (await monitored.get(`${sets}/prometheus-main`)).spec.replicas === 2)
  })

  test('what it made goes with the object', async () => {
    await monitored.kubectl('delete', '-n', 'watch', 'prometheus/main', 'alertmanager/main')
    await eventually('all is gone', async () => {
      const names = (await monitored.get(sets)).items.map(({ metadata }: AnyObject) => metadata.name)
      const pods = (await monitored.get(`${core}/pods?labelSelector=app.kubernetes.io/instance=main`)).items
      const secrets = (await monitored.get(`${core}/secrets/prometheus-main`)).code
      return !names.includes('prometheus-main') && pods.length === 0 && secrets === 404
    })
  })

  test('has not complained about the server', () => {
    assert.deepEqual(monitored.complaints(), [])
  })
})

describe('prometheus-operator beside Kubernetes', {
  skip: missingPrograms(program, 'kube-controller-manager', 'kube-scheduler') || (lackOfPeer() ?? false),
}, () => {
  const stack = new AsyncDisposableStack()
  after(() => stack.disposeAsync())

  test('makes the same objects as there', async () => {
    const ours = new Monitored(await startHollowCluster(stack, nodes))
    const theirs = new Monitored(await startPeerCluster(stack, nodes))
    for (const each of [ours, theirs]) await each.start(stack)
    for (const each of [ours, theirs]) for (const path of available) await each.untilAvailable(path)
    const isSame = async () => isDeepStrictEqual(await ours.made(), await theirs.made())
    // What differs when the time is over is shown below.
    await untilAsync('all is the same', isSame, deadlineMs).catch(() => undefined)
    assert.deepEqual(await ours.made(), await theirs.made())
  })
})
