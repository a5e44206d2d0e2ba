import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { createCronJobController } from '../../../../src/controllers/workloads/cron-job/cron-job-controller.ts'
import { createJobController } from '../../../../src/controllers/workloads/job/job-controller.ts'
import { createJobTtlController } from '../../../../src/controllers/workloads/job/ttl-controller.ts'
import { startTestServer, type TestServer } from '../../../helpers/api-server.ts'
import { runControllers } from '../../../helpers/controller-lab.ts'
import type { AnyObject } from '../../../helpers/simulated-cluster.ts'
import { untilAsync } from '../../../helpers/until.ts'

const core = '/api/v1/namespaces/default'
const batch = '/apis/batch/v1/namespaces/default'
const mergePatch = { 'content-type': 'application/merge-patch+json' }
const podSpec = { restartPolicy: 'Never', containers: [{ name: 'main', image: 'main:1' }] }
const finalizer = 'batch.kubernetes.io/job-tracking'
/** The processors may be busy with other tests. */
const eventually = (what: string, condition: () => Promise<boolean>) => untilAsync(what, condition, 30_000)
const indexOf = (pod: AnyObject) => pod.metadata.annotations['batch.kubernetes.io/job-completion-index']

describe('Jobs', () => {
  let server: TestServer
  let controllers: AsyncDisposable
  before(async () => {
    server = await startTestServer()
    await server.call('POST', `${core}/serviceaccounts`, { body: { metadata: { name: 'default' } } })
    controllers = await runControllers(server, (kit) => [
      createJobController(kit),
      createJobTtlController(kit),
      createCronJobController(kit),
    ])
  })
  after(async () => {
    await controllers[Symbol.asyncDispose]()
    await server.stop()
  })

  const make = async (name: string, spec: object) => {
    const body = { metadata: { name }, spec: { template: { spec: podSpec }, ...spec } }
    const { code, text } = await server.call('POST', `${batch}/jobs`, { body })
    assert.equal(code, 201, text)
  }
  const read = async (name: string): Promise<AnyObject> => (await server.call('GET', `${batch}/jobs/${name}`)).body
  const podsOf = async (name: string): Promise<readonly AnyObject[]> =>
    (await server.call('GET', `${core}/pods?labelSelector=job-name=${name}`)).body.items
  const running = async (name: string) =>
    (await podsOf(name)).filter(({ status, metadata }) => status.phase === 'Pending' && !metadata.deletionTimestamp)
  const finish = async (pod: AnyObject, phase: string, exitCode = 0) => {
    const terminated = { exitCode, finishedAt: '2026-01-01T00:00:00Z' }
    const status = { phase, containerStatuses: [{ name: 'main', state: { terminated } }] }
    const path = `${core}/pods/${pod.metadata.name}/status`
    const { code, text } = await server.call('PATCH', path, { body: { status }, headers: mergePatch })
    assert.equal(code, 200, text)
  }
  const untilRunning = (name: string, count: number) =>
    eventually(`${count} pods of ${name} run`, async () => (await running(name)).length === count)
  const finishAll = async (name: string, phase: string, exitCode?: number) => {
    for (const pod of await running(name)) await finish(pod, phase, exitCode)
  }
  const conditionsOf = ({ status }: AnyObject): readonly string[] =>
    (status.conditions ?? []).map((each: AnyObject) => `${each.type}=${each.status} ${each.reason}`)
  const untilEnded = async (name: string) => {
    await eventually(`${name} ends`, async () =>
      /Complete=True|Failed=True/.test(conditionsOf(await read(name)).join()),
    )
    return read(name)
  }

  test('a Job without labels has those of its template, which the server makes where there are none', async () => {
    await make('bare', { suspend: true })
    const { metadata, spec } = await read('bare')
    assert.equal(metadata.labels['job-name'], 'bare')
    assert.deepEqual(metadata.labels, spec.template.metadata.labels)
    await make('named', { suspend: true, template: { metadata: { labels: { app: 'web' } }, spec: podSpec } })
    assert.deepEqual((await read('named')).metadata.labels, { app: 'web' })
  })

  test('make their pods one after the other up to the completions, each counted once', async () => {
    await make('counted', { completions: 3, parallelism: 2 })
    await untilRunning('counted', 2)
    const [first] = await running('counted')
    assert.deepEqual(first.metadata.finalizers, [finalizer])
    await finish(first, 'Succeeded')
    await eventually('one is counted', async () => (await read('counted')).status.succeeded === 1)
    await untilRunning('counted', 2)
    await finishAll('counted', 'Succeeded')
    const { status } = await untilEnded('counted')
    assert.equal(status.succeeded, 3)
    assert.deepEqual(conditionsOf({ status }), [
      'SuccessCriteriaMet=True CompletionsReached',
      'Complete=True CompletionsReached',
    ])
    assert.deepEqual(status.uncountedTerminatedPods, {})
    assert.deepEqual([status.ready, status.terminating, status.active], [0, 0, undefined])
    assert.ok(Date.parse(status.completionTime) >= Date.parse(status.startTime))
    const pods = await podsOf('counted')
    assert.deepEqual(
      pods.map(({ metadata }) => metadata.finalizers),
      [undefined, undefined, undefined],
    )
  })

  test('fail beyond their limit, and end the pods that run', async () => {
    await make('limited', { backoffLimit: 0, parallelism: 2, completions: 2 })
    await untilRunning('limited', 2)
    const [first] = await running('limited')
    await finish(first, 'Failed', 1)
    const { status } = await untilEnded('limited')
    assert.deepEqual(conditionsOf({ status }), [
      'FailureTarget=True BackoffLimitExceeded',
      'Failed=True BackoffLimitExceeded',
    ])
    assert.equal(status.failed, 2)
    assert.deepEqual(
      (await podsOf('limited')).map(({ metadata }) => metadata.name),
      [first.metadata.name],
    )
  })

  test('wait after a failure before they make the next pod', async () => {
    await make('waits', { backoffLimit: 3 })
    await untilRunning('waits', 1)
    const [first] = await running('waits')
    const terminated = { exitCode: 1, finishedAt: new Date().toISOString() }
    await server.call('PATCH', `${core}/pods/${first.metadata.name}/status`, {
      body: { status: { phase: 'Failed', containerStatuses: [{ name: 'main', state: { terminated } }] } },
      headers: mergePatch,
    })
    await eventually('the failure is counted', async () => (await read('waits')).status.failed === 1)
    assert.equal((await running('waits')).length, 0)
  })

  test('give each pod of an Indexed Job its index, its host name and its variable', async () => {
    await make('indexed', { completionMode: 'Indexed', completions: 3, parallelism: 3 })
    await untilRunning('indexed', 3)
    const pods = (await running('indexed')).toSorted((one, other) => indexOf(one) - indexOf(other))
    assert.deepEqual(pods.map(indexOf), ['0', '1', '2'])
    assert.deepEqual(
      pods.map(({ spec }) => spec.hostname),
      ['indexed-0', 'indexed-1', 'indexed-2'],
    )
    const [{ env }] = pods[1].spec.containers
    assert.deepEqual(env, [
      {
        name: 'JOB_COMPLETION_INDEX',
        valueFrom: {
          fieldRef: {
            apiVersion: 'v1',
            fieldPath: "metadata.labels['batch.kubernetes.io/job-completion-index']",
          },
        },
      },
    ])
    await finish(pods[2], 'Succeeded')
    await eventually('an index is noted', async () => (await read('indexed')).status.completedIndexes === '2')
    await finish(pods[0], 'Succeeded')
    await finish(pods[1], 'Succeeded')
    assert.equal((await untilEnded('indexed')).status.completedIndexes, '0-2')
  })

  test('let one index fail without the others, and count its failures', async () => {
    await make('per-index', {
      completionMode: 'Indexed',
      completions: 2,
      parallelism: 2,
      backoffLimitPerIndex: 1,
    })
    await untilRunning('per-index', 2)
    const [first, second] = (await running('per-index')).toSorted((one, other) => indexOf(one) - indexOf(other))
    await finish(second, 'Succeeded')
    await finish(first, 'Failed', 1)
    await eventually('the index is tried again', async () => (await running('per-index')).length === 1)
    const [again] = await running('per-index')
    assert.equal(again.metadata.annotations['batch.kubernetes.io/job-index-failure-count'], '1')
    await finish(again, 'Failed', 1)
    const { status } = await untilEnded('per-index')
    assert.deepEqual(conditionsOf({ status }), ['FailureTarget=True FailedIndexes', 'Failed=True FailedIndexes'])
    assert.deepEqual([status.completedIndexes, status.failedIndexes, status.failed], ['1', '0', 2])
  })

  test('succeed by their success policy, and end the other pods', async () => {
    await make('leader', {
      completionMode: 'Indexed',
      completions: 2,
      parallelism: 2,
      successPolicy: { rules: [{ succeededIndexes: '0' }] },
    })
    await untilRunning('leader', 2)
    const pods = await running('leader')
    await finish(
      pods.find((pod) => indexOf(pod) === '0'),
      'Succeeded',
    )
    const { status } = await untilEnded('leader')
    assert.deepEqual(conditionsOf({ status }), ['SuccessCriteriaMet=True SuccessPolicy', 'Complete=True SuccessPolicy'])
    assert.deepEqual([status.succeeded, status.failed], [1, undefined])
  })

  test('fail or ignore failures by their failure policy', async () => {
    const rules = [
      { action: 'Ignore', onExitCodes: { operator: 'In', values: [42] } },
      { action: 'FailJob', onExitCodes: { containerName: 'main', operator: 'In', values: [5] } },
    ]
    await make('policy', { podFailurePolicy: { rules }, backoffLimit: 1 })
    await untilRunning('policy', 1)
    const [ignored] = await running('policy')
    await finish(ignored, 'Failed', 42)
    await eventually('another pod runs', async () =>
      (await running('policy')).some((pod) => pod.metadata.name !== ignored.metadata.name),
    )
    assert.equal((await read('policy')).status.failed, undefined)
    const [fatal] = await running('policy')
    await finish(fatal, 'Failed', 5)
    const { status } = await untilEnded('policy')
    assert.deepEqual(conditionsOf({ status }), ['FailureTarget=True PodFailurePolicy', 'Failed=True PodFailurePolicy'])
    const why = `Container main for pod default/${fatal.metadata.name} failed with exit code 5 matching FailJob rule at index 1`
    assert.equal(status.conditions[1].message, why)
  })

  test('stop and go on with suspend, without counting the pods that it ends', async () => {
    await make('paused', {})
    await untilRunning('paused', 1)
    const suspend = (value: boolean) =>
      server.call('PATCH', `${batch}/jobs/paused`, { body: { spec: { suspend: value } }, headers: mergePatch })
    await suspend(true)
    await eventually('it is suspended', async () =>
      conditionsOf(await read('paused')).includes('Suspended=True JobSuspended'),
    )
    await eventually('no pod is left', async () => (await podsOf('paused')).length === 0)
    await suspend(false)
    await untilRunning('paused', 1)
    const job = await read('paused')
    assert.deepEqual(conditionsOf(job), ['Suspended=False JobResumed'])
    assert.equal(job.status.failed, undefined)
  })

  test('end at their deadline', async () => {
    await make('late', { activeDeadlineSeconds: 1 })
    const { status } = await untilEnded('late')
    assert.ok(conditionsOf({ status }).includes('Failed=True DeadlineExceeded'))
  })

  test('go when their time after the end is over', async () => {
    await make('short', { ttlSecondsAfterFinished: 1 })
    await untilRunning('short', 1)
    await finishAll('short', 'Succeeded')
    await untilEnded('short')
    await eventually('it is being deleted', async () => (await read('short')).metadata.deletionTimestamp !== undefined)
    assert.deepEqual((await read('short')).metadata.finalizers, ['foregroundDeletion'])
  })

  test('leave no finalizer on their pods when they are deleted', async () => {
    await make('gone', {})
    await untilRunning('gone', 1)
    const body = { kind: 'DeleteOptions', apiVersion: 'v1', propagationPolicy: 'Background' }
    await server.call('DELETE', `${batch}/jobs/gone`, { body })
    await eventually('the pod is free', async () =>
      (await podsOf('gone')).every(({ metadata }) => metadata.finalizers === undefined),
    )
    assert.equal((await podsOf('gone')).length, 1)
  })

  test('that another program manages are left alone', async () => {
    await make('foreign', { managedBy: 'example.com/queue' })
    await make('own', {})
    await untilRunning('own', 1)
    assert.deepEqual([(await podsOf('foreign')).length, (await read('foreign')).status], [0, {}])
  })

  test('are made by a CronJob, which knows them and their ends', async () => {
    const jobTemplate = { spec: { template: { spec: podSpec } } }
    const body = {
      metadata: { name: 'often' },
      spec: { schedule: '@every 1s', concurrencyPolicy: 'Forbid', jobTemplate },
    }
    const made = await server.call('POST', `${batch}/cronjobs`, { body })
    assert.equal(made.code, 201, made.text)
    const cron = async (): Promise<AnyObject> => (await server.call('GET', `${batch}/cronjobs/often`)).body
    await eventually('a Job runs', async () => (await cron()).status.active?.length === 1)
    const [{ name }] = (await cron()).status.active
    const suspended = { body: { spec: { suspend: true } }, headers: mergePatch }
    await server.call('PATCH', `${batch}/cronjobs/often`, suspended)
    const job = await read(name)
    assert.equal(job.metadata.ownerReferences[0].name, 'often')
    await untilRunning(name, 1)
    await finishAll(name, 'Succeeded')
    await untilEnded(name)
    await eventually('the end is known', async () => (await cron()).status.active === undefined)
    assert.equal((await cron()).status.lastSuccessfulTime, (await read(name)).status.completionTime)
  })
})
