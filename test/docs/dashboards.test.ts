import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { test } from 'node:test'
import { metricGroups } from '../../src/app/metric-groups.ts'
import { dashboardFiles, metricsOf, readAlerts, readDashboard, readPanelQueries } from '../helpers/dashboards.ts'

const declared = new Set(metricGroups.flatMap(({ specs }) => specs.map(({ name }) => name)))
const queries = readPanelQueries()
const alerts = readAlerts()
const runbook = readFileSync(resolve(import.meta.dirname, '../../docs/runbook.md'), 'utf8')

test('Dashboards and alerts ask only for metrics that are declared.', () => {
  assert.ok(queries.length > 120)
  assert.ok(alerts.length > 30)
  const asked = [...queries.map(({ expr }) => expr), ...alerts.map(({ expr }) => expr)].flatMap(metricsOf)
  assert.deepEqual(
    asked.filter((name) => !declared.has(name)),
    [],
  )
})

test('Every metric of Platnet itself is on a dashboard.', () => {
  const shown = new Set(queries.flatMap(({ expr }) => metricsOf(expr)))
  const ours = [...declared].filter((name) => name.startsWith('platnet_'))
  assert.ok(ours.length > 30)
  assert.deepEqual(
    ours.filter((name) => !shown.has(name)),
    [],
  )
})

test('Every dashboard has an identifier and a title of its own, and each of its queries is asked once.', () => {
  const dashboards = dashboardFiles.map(readDashboard)
  assert.equal(new Set(dashboards.map(({ uid }) => uid)).size, 7)
  assert.equal(new Set(dashboards.map(({ title }) => title)).size, 7)
  for (const { uid, panels } of dashboards) {
    const own = panels.flatMap(({ targets }) => targets.map(({ expr }) => expr))
    assert.equal(new Set(own).size, own.length, uid)
  }
})

test('Every alert names its entry in the runbook, which has no entry without an alert.', () => {
  const entries = [...runbook.matchAll(/^### (\w+)$/gm)].map(([, name]) => name)
  assert.deepEqual(
    entries,
    alerts.map(({ alert }) => alert),
  )
  for (const { alert, annotations } of alerts)
    assert.equal(annotations.runbook, `docs/runbook.md#${alert.toLowerCase()}`)
})

test('Every entry of the runbook says the severity, where to look and what to do.', () => {
  for (const { alert, labels } of alerts) {
    const entry = runbook.split(`### ${alert}\n`)[1]?.split('\n#')[0] ?? ''
    assert.match(entry, new RegExp(`^\\nSeverity ${labels.severity}\\. `), alert)
    assert.match(entry, /^- Look: /m, alert)
    assert.match(entry, /^- Do: /m, alert)
  }
})

test('Every alert has a case in which it fires and one in which it stays silent.', () => {
  const cases = readFileSync(resolve(import.meta.dirname, '../../deploy/prometheus/alerts.test.yaml'), 'utf8')
  const names = [...cases.matchAll(/^ {2}- name: (.+)$/gm)].map(([, name]) => name)
  assert.deepEqual(
    names,
    alerts.flatMap(({ alert }) => [`${alert} fires`, `${alert} stays silent`]),
  )
})
