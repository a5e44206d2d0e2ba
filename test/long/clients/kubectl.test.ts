import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { runProgram } from '../../../src/host/index.ts'
import { startHollowCluster } from './hollow-kubelet.ts'
import { type ClientsServer, missingPrograms, programFile } from './programs.ts'

const labels = { app: 'web' }
const objects = [
  {
    ...{ apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'web', labels } },
    spec: {
      replicas: 2,
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: { containers: [{ name: 'c', image: 'i', resources: { requests: { cpu: '10m' } } }] },
      },
    },
  },
  {
    ...{ apiVersion: 'v1', kind: 'Service', metadata: { name: 'web' } },
    spec: { selector: labels, ports: [{ port: 80 }] },
  },
  { ...{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'c', labels } }, data: { a: '1' } },
]
const manifest = (items: readonly object[]) => JSON.stringify({ apiVersion: 'v1', kind: 'List', items })

/** Commands, and what each has to print. They build upon each other. */
const commands: readonly (readonly [string, RegExp, string?])[] = [
  ['apply -f -', /deployment.apps\/web created\nservice\/web created\nconfigmap\/c created/, manifest(objects)],
  ['apply -f -', /(.+ unchanged\n){3}/, manifest(objects)],
  ['diff -f -', /^$/, manifest(objects)],
  ['rollout status deploy/web --timeout=60s', /successfully rolled out/],
  ['apply --server-side --force-conflicts -f -', /(.+ serverside-applied\n){3}/, manifest(objects)],
  [
    'apply --prune -l app=web --prune-allowlist=core/v1/ConfigMap -f -',
    /configmap\/c pruned/,
    manifest(objects.slice(0, 1)),
  ],
  ['get all', /deployment.apps\/web +2\/2/],
  ['get deploy web -o kyaml', /kind: "Deployment",/],
  ['get pods -o wide --chunk-size=1', /Running(.|\n)*Running/],
  ['get deploy web --subresource=status', /2\/2/],
  ['explain deployment.spec.strategy --recursive', /rollingUpdate/],
  ['wait --for=jsonpath={.status.readyReplicas}=2 deploy/web --timeout=30s', /condition met/],
  ['wait --for=create deploy/web --timeout=30s', /condition met/],
  ['scale deploy/web --replicas=3', /scaled/],
  ['patch deploy web --subresource=scale --type=merge -p {"spec":{"replicas":2}}', /patched/],
  ['set image deploy/web c=j', /image updated/],
  ['rollout history deploy/web', /1 +<none>\n2 +<none>/],
  ['rollout restart deploy/web', /restarted/],
  ['autoscale deploy web --max=3 --cpu=50%', /autoscaled/],
  ['expose deploy web --name=other --port=81', /service\/other exposed/],
  ['create token default --bound-object-kind=Secret --bound-object-name=s', /^ey/],
  ['create cronjob x --image=i --schedule=@daily', /created/],
  ['create job --from=cronjob/x y', /job.batch\/y created/],
  ['describe deploy web', /ScalingReplicaSet/],
  ['events --for deploy/web', /Scaled up replica set/],
  ['auth whoami', /platnet-admin/],
  ['auth can-i --list', /\*\.\*/],
  ['drain node-1 --ignore-daemonsets --force --disable-eviction=false', /node\/node-1 drained/],
  ['uncordon node-1', /uncordoned/],
  ['delete all --all --wait --timeout=60s', /deployment.apps "web" deleted/],
]

describe('the newest kubectl', { skip: missingPrograms('kubectl-1.37') }, () => {
  const stack = new AsyncDisposableStack()
  let server: ClientsServer
  before(async () => {
    server = await startHollowCluster(stack, ['node-1', 'node-2'])
    await server.admin.call('POST', '/api/v1/namespaces/default/secrets', { metadata: { name: 's' } })
  })
  after(() => stack.disposeAsync())

  for (const [command, printed, input] of commands) {
    test(`does what it is asked for: ${command}`, async () => {
      const env = { HOME: server.folder, KUBECONFIG: server.kubeconfig, PATH: process.env['PATH'] ?? '' }
      const settings = { timeoutMs: 90_000, env, ...(input === undefined ? {} : { input }) }
      const { stdout, stderr } = await runProgram(programFile('kubectl-1.37') ?? '', command.split(' '), settings)
      assert.match(stdout, printed)
      assert.doesNotMatch(stderr, /^(W|E)\d{4} |Warning: .*deprecated|fallback/m)
    })
  }
})
