// Run by autoscaling.test.ts in namespaces of its own: a Deployment whose pods really run, scaled by their CPU use. Prints
// what was seen as one line of JSON.
import { runProgram } from '../../../src/host/index.ts'
import { type AnyObject, deadlineMs, PodsLab } from '../../helpers/pods-lab.ts'
import { untilAsync } from '../../helpers/until.ts'

const lab = new PodsLab({
  serverFlags: [
    '--dialect',
    'kubernetes',
    '--horizontal-pod-autoscaler-sync-period',
    '1s',
    '--horizontal-pod-autoscaler-cpu-initialization-period',
    '0',
    '--horizontal-pod-autoscaler-initial-readiness-delay',
    '0',
  ],
})
const apps = { group: 'apps', version: 'v1', resource: 'deployments' }
const hpas = { group: 'autoscaling', version: 'v2', resource: 'horizontalpodautoscalers' }
const web = { namespace: 'default', name: 'web' }
/** Uses a part of a CPU until there is a file that every container sees. */
const program =
  'trap "exit 0" TERM; while :; do if [ -e /run/shown/idle ]; then sleep 0.2; else i=0; while [ $i -lt 4000 ]; do i=$((i+1)); done; sleep 0.02; fi; done'

const kubectl = async (...args: readonly string[]): Promise<string> => {
  const flags = ['--kubeconfig', '/run/platnet/admin.kubeconfig', '--cache-dir', '/run/kube-cache']
  const { stdout } = await runProgram('kubectl', [...flags, ...args], { timeoutMs: deadlineMs })
  return stdout
}
const replicas = async (): Promise<number> => {
  const { spec } = (await lab.client.get({ resource: apps, ...web })) as AnyObject
  return spec.replicas
}
const waitFor = (what: string, condition: () => Promise<boolean>) => untilAsync(what, condition, 120_000)

async function createDeployment(): Promise<void> {
  const labels = { app: 'web' }
  const container = {
    name: 'main',
    image: 'none',
    command: ['sh', '-c', program],
    resources: { requests: { cpu: '50m' } },
  }
  await lab.create(apps, {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: web,
    spec: {
      replicas: 1,
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: { terminationGracePeriodSeconds: 1, automountServiceAccountToken: false, containers: [container] },
      },
    },
  })
}

async function observeGrowth() {
  const created = await kubectl('autoscale', 'deployment', 'web', '--min=1', '--max=3', '--cpu-percent=50')
  await lab.client.patch(
    { resource: hpas, ...web },
    { kind: 'merge', patch: { spec: { behavior: { scaleDown: { stabilizationWindowSeconds: 2 } } } } },
  )
  await waitFor('the Deployment has three replicas', async () => (await replicas()) === 3)
  await waitFor('all pods have figures', async () => {
    const lines = (await kubectl('top', 'pods', '--no-headers').catch(() => '')).trim().split('\n')
    return lines.length === 3
  })
  return {
    created,
    pods: await kubectl('top', 'pods', '--containers'),
    nodes: await kubectl('top', 'nodes'),
    table: await kubectl('get', 'hpa', 'web'),
    description: await kubectl('describe', 'hpa', 'web'),
  }
}

async function observeFall() {
  await runProgram('touch', ['/run/shown/idle'], { timeoutMs: deadlineMs })
  await waitFor('the Deployment has one replica', async () => (await replicas()) === 1)
  return { events: await kubectl('get', 'events', '--field-selector', 'involvedObject.kind=HorizontalPodAutoscaler') }
}

async function observeLostAgent() {
  await lab.killAgent()
  let message = ''
  await waitFor('the autoscaler cannot measure', async () => {
    const { status } = (await lab.client.get({ resource: hpas, ...web })) as AnyObject
    const active = status.conditions.find(({ type }: { type: string }) => type === 'ScalingActive')
    message = active.message
    return active.status === 'False' && active.reason === 'FailedGetResourceMetric'
  })
  return { message }
}

await lab.build()
try {
  await lab.startAgent()
  await createDeployment()
  const growth = await observeGrowth()
  const fall = await observeFall()
  const lost = await observeLostAgent()
  process.stdout.write(`${JSON.stringify({ growth, fall, lost })}\n`)
} finally {
  await lab.stop()
}
