import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { hollowNode, runControllers, workloadControllers } from '../helpers/controller-lab.ts'
import { type Kubectl, missingKubectl, startKubectl } from '../helpers/kubectl.ts'

const labels = { app: 'web' }
const pods = (image: string) => ({ metadata: { labels }, spec: { containers: [{ name: 'web', image }] } })

function workload(kind: string, image: string, spec: object = {}) {
  return {
    apiVersion: 'apps/v1',
    kind,
    metadata: { name: 'web' },
    spec: { selector: { matchLabels: labels }, template: pods(image), ...spec },
  }
}

describe('kubectl with the workload controllers', { skip: missingKubectl() }, () => {
  let kubectl: Kubectl
  let controllers: AsyncDisposable

  before(async () => {
    kubectl = await startKubectl('kubernetes')
    controllers = await runControllers(kubectl.server, (kit) => [...workloadControllers(kit), hollowNode(kit)])
  })
  after(async () => {
    await controllers[Symbol.asyncDispose]()
    await kubectl[Symbol.asyncDispose]()
  })

  test('rolls a Deployment out, tells its history and undoes it', async () => {
    const apply = (image: string) =>
      kubectl.run('apply', '-f', kubectl.file('web.json', workload('Deployment', image, { replicas: 3 })))
    await apply('web:1')
    assert.match(await kubectl.run('rollout', 'status', 'deployment/web', '--timeout=60s'), /successfully rolled out/)
    await apply('web:2')
    assert.match(await kubectl.run('rollout', 'status', 'deployment/web', '--timeout=60s'), /successfully rolled out/)
    const history = await kubectl.run('rollout', 'history', 'deployment/web')
    assert.match(history, /^1 .*\n2 /m)
    assert.match(await kubectl.run('rollout', 'undo', 'deployment/web'), /rolled back/)
    await kubectl.run('rollout', 'status', 'deployment/web', '--timeout=60s')
    assert.equal(await kubectl.run('get', 'deployment', 'web', '-o', 'jsonpath={..image}'), 'web:1')
    assert.match(await kubectl.run('rollout', 'history', 'deployment/web'), /^2 .*\n3 /m)
  })

  test('restarts, waits for and scales a Deployment', async () => {
    await kubectl.run('rollout', 'restart', 'deployment/web')
    await kubectl.run('rollout', 'status', 'deployment/web', '--timeout=60s')
    await kubectl.run('wait', 'deployment/web', '--for=condition=Available', '--timeout=60s')
    await kubectl.run('scale', 'deployment/web', '--current-replicas=3', '--replicas=5')
    await kubectl.run('wait', 'deployment/web', '--for=jsonpath={.status.readyReplicas}=5', '--timeout=60s')
    const names = (await kubectl.run('get', 'pods', '-l', 'app=web', '-o', 'name')).trim().split('\n')
    assert.equal(names.length, 5)
  })

  test('a paused Deployment waits and goes on when it is resumed', async () => {
    await kubectl.run('rollout', 'pause', 'deployment/web')
    await kubectl.run('set', 'image', 'deployment/web', 'web=web:9')
    await kubectl.run(
      'wait',
      'deployment/web',
      '--for=jsonpath={.status.conditions[?(@.type=="Progressing")].reason}=DeploymentPaused',
      '--timeout=60s',
    )
    assert.doesNotMatch(await kubectl.run('get', 'pods', '-o', 'jsonpath={..image}'), /web:9/)
    await kubectl.run('rollout', 'resume', 'deployment/web')
    await kubectl.run('rollout', 'status', 'deployment/web', '--timeout=60s')
    assert.match(await kubectl.run('get', 'pods', '-o', 'jsonpath={..image}'), /^(web:9 ?){5,}$/)
  })

  test('rolls a StatefulSet out in order and undoes it', async () => {
    await kubectl.run('create', 'namespace', 'db')
    const apply = (image: string) => {
      const set = workload('StatefulSet', image, { replicas: 2, serviceName: 'web' })
      return kubectl.run('-n', 'db', 'apply', '-f', kubectl.file('set.json', set))
    }
    await apply('db:1')
    await kubectl.run('-n', 'db', 'rollout', 'status', 'statefulset/web', '--timeout=60s')
    assert.equal(await kubectl.run('-n', 'db', 'get', 'pods', '-o', 'name'), 'pod/web-0\npod/web-1\n')
    await apply('db:2')
    await kubectl.run('-n', 'db', 'rollout', 'status', 'statefulset/web', '--timeout=60s')
    assert.equal(await kubectl.run('-n', 'db', 'get', 'pods', '-o', 'jsonpath={..spec..image}'), 'db:2 db:2')
    await kubectl.run('-n', 'db', 'rollout', 'undo', 'statefulset/web')
    await kubectl.run('-n', 'db', 'rollout', 'status', 'statefulset/web', '--timeout=60s')
    assert.equal(await kubectl.run('-n', 'db', 'get', 'pods', '-o', 'jsonpath={..spec..image}'), 'db:1 db:1')
  })
})
