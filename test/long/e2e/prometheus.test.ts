import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { resolve } from 'node:path'
import { before, describe, test } from 'node:test'
import { z } from 'zod'
import { metricGroups } from '../../../src/app/metric-groups.ts'
import { runIsolated } from '../../../src/demo/isolate.ts'
import type { MetricSpec } from '../../../src/model/metric-spec.ts'
import { skipReason } from '../../helpers/netns.ts'
import { emptyPublished } from '../../helpers/published-queries.ts'

const querySchema = z.object({ source: z.string(), expr: z.string(), series: z.number() })
const seenSchema = z.object({
  scrapes: z.array(
    z.object({ job: z.string(), health: z.string(), lastError: z.string(), seconds: z.number(), body: z.string() }),
  ),
  panels: z.array(querySchema),
  alerts: z.array(querySchema),
  published: z.array(querySchema),
  firing: z.array(z.string()),
})

/** Panels that rightly show nothing in this run, and the reason. */
const emptyPanels: Readonly<Record<string, string>> = {
  platnet_tracing: 'tracing is off',
  ALERTS: 'no alert fires yet: each waits for minutes',
}

/** Alerts whose expression has no operand in this run, and the reason. */
const emptyAlerts: Readonly<Record<string, string>> = {
  PlatnetAgentMissing: 'the agent is there',
  PlatnetApiUnreachable: 'no request failed',
  PlatnetApiErrors: 'the server made no error',
  PlatnetReconcileErrors: 'no controller failed',
}

const jobs = ['kube-apiserver', 'kube-controller-manager', 'kube-dns', 'kube-proxy', 'kube-scheduler']

const specs = new Map(metricGroups.flatMap((group) => group.specs).map((spec) => [spec.name, spec] as const))

interface Sample {
  readonly spec: MetricSpec | undefined
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
}

function samplesOf(body: string): readonly Sample[] {
  const lines = body.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
  return lines.map((line) => {
    const [, name = '', inner = ''] = /^([a-zA-Z0-9_:]+)(?:\{(.*)\})? \S+$/.exec(line) ?? []
    const pairs = [...inner.matchAll(/([a-z_]+)="((?:[^"\\]|\\.)*)"/g)].map(([, key = '', value = '']) => [key, value])
    const { le: _bound, ...labels } = Object.fromEntries(pairs)
    return { spec: specs.get(name) ?? specs.get(name.replace(/_(bucket|sum|count)$/, '')), name, labels }
  })
}

function checkLabels(job: string, { spec, name, labels }: Sample): void {
  assert.ok(spec !== undefined, `${job}: ${name} is not declared`)
  const { labels: declared = {} } = spec
  assert.deepEqual(Object.keys(labels).toSorted(), Object.keys(declared).toSorted(), `${job}: ${name}`)
  for (const [key, values] of Object.entries(declared))
    if (typeof values !== 'string') assert.ok(values.includes(labels[key] ?? ''), `${name}{${key}="${labels[key]}"}`)
}

function withoutData(queries: z.infer<typeof querySchema>[], reasons: Readonly<Record<string, string>>) {
  const isNamed = ({ source, expr }: { source: string; expr: string }) =>
    Object.keys(reasons).some((part) => source === part || expr.includes(part))
  return queries.filter(({ series }) => series === 0).filter((query) => !isNamed(query))
}

describe('a Prometheus that scrapes a node with the configuration of deploy/prometheus', {
  skip:
    skipReason('iptables', 'ipset', 'unshare', 'dig', '/usr/lib/cni/bridge') ||
    (skipReason('prometheus', 'promtool') && 'needs prometheus: apt-get install prometheus'),
}, () => {
  let seen: z.infer<typeof seenSchema>

  before(async () => {
    const program = resolve(import.meta.dirname, 'prometheus.program.ts')
    const { exitCode, stdout } = await runIsolated(program, [], {
      signal: AbortSignal.timeout(240_000),
      stdout: 'pipe',
    })
    assert.equal(exitCode, 0, 'the program failed; its output is above')
    seen = seenSchema.parse(JSON.parse(stdout.trimEnd().split('\n').at(-1) ?? ''))
  })

  test('It reaches every endpoint with the token of its service account.', (context) => {
    const states = seen.scrapes.map(({ job, health, lastError }) => ({ job, health, lastError }))
    assert.deepEqual(
      states.sort((a, b) => a.job.localeCompare(b.job)),
      jobs.map((job) => ({ job, health: 'up', lastError: '' })),
    )
    for (const { job, seconds, body } of seen.scrapes)
      context.diagnostic(`${job}: ${body.length} bytes in ${Math.round(seconds * 1000)} ms`)
  })

  test('Every panel of our dashboards shows data, apart from those that rightly have none.', () => {
    assert.ok(seen.panels.length > 120)
    assert.deepEqual(withoutData(seen.panels, emptyPanels), [])
  })

  test('Every alert has the series that it asks for, apart from those that rightly have none.', () => {
    assert.ok(seen.alerts.length > 30)
    assert.deepEqual(withoutData(seen.alerts, emptyAlerts), [])
  })

  test('Published dashboards for kube-proxy, CoreDNS and the control plane show data, apart from what does not apply.', () => {
    assert.ok(seen.published.length > 80)
    assert.deepEqual(withoutData(seen.published, emptyPublished), [])
    for (const part of Object.keys(emptyPublished)) {
      const named = seen.published.filter(({ expr }) => expr.includes(part))
      assert.ok(named.length > 0, `no query has ${part}`)
      assert.ok(
        named.some(({ series }) => series === 0),
        `${part} has data: it needs no reason`,
      )
    }
  })

  test('The alerts of the trouble that was made wait or fire, and no alert of a healthy part does.', () => {
    for (const alert of ['PlatnetPolicyDenials', 'PlatnetIngressBackendsDown', 'PlatnetIngressProblems'])
      assert.ok(seen.firing.includes(alert), alert)
    for (const alert of ['PlatnetDown', 'PlatnetProxySyncFailing', 'PlatnetPolicyNotEnforced', 'PlatnetNoLeader'])
      assert.ok(!seen.firing.includes(alert), alert)
  })

  test('Every series is declared, its labels have no other values than the declaration says, and no metric has many.', () => {
    for (const { job, body } of seen.scrapes) {
      const samples = samplesOf(body)
      for (const sample of samples) checkLabels(job, sample)
      for (const [name, own] of Map.groupBy(samples, ({ spec }) => spec?.name)) {
        const series = new Set(own.map(({ labels }) => JSON.stringify(labels)))
        assert.ok(series.size <= 150, `${job}: ${name} has ${series.size} label sets`)
      }
    }
  })

  test('promtool finds fault with nothing that was scraped, but with the names of two gauges of kube-proxy.', () => {
    for (const { job, body } of seen.scrapes) {
      const { stdout, stderr } = spawnSync('promtool', ['check', 'metrics'], { input: body, encoding: 'utf8' })
      const faults = `${stdout}${stderr}`.split('\n').filter(Boolean)
      assert.deepEqual(
        faults.filter((fault) => !/^kubeproxy_\w+_total non-counter/.test(fault)),
        [],
        job,
      )
    }
  })
})
