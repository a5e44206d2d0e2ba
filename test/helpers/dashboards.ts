import { globSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parse } from 'yaml'
import { z } from 'zod'
import { metricGroups } from '../../src/app/metric-groups.ts'

const root = resolve(import.meta.dirname, '../..')

const dashboardSchema = z.object({
  uid: z.string(),
  title: z.string(),
  panels: z.array(
    z.object({ title: z.string(), targets: z.array(z.object({ expr: z.string() })).default([]) }).loose(),
  ),
})

const rulesSchema = z.object({
  groups: z.array(
    z.object({
      rules: z.array(
        z.object({
          alert: z.string(),
          expr: z.string(),
          labels: z.object({ severity: z.enum(['critical', 'warning', 'info']) }),
          annotations: z.object({ summary: z.string(), runbook: z.string() }),
        }),
      ),
    }),
  ),
})

/** A query of a panel or the expression of an alert. */
export interface Query {
  /** `dns: Answers by rcode`, or the name of an alert. */
  readonly source: string
  readonly expr: string
}

export const dashboardFiles: readonly string[] = globSync('deploy/grafana/*.json', { cwd: root }).sort()

export function readDashboard(file: string) {
  return dashboardSchema.parse(JSON.parse(readFileSync(join(root, file), 'utf8')))
}

/** Reads the queries of our dashboards as Prometheus takes them: all instances, and a window of a minute. */
export function readPanelQueries(): readonly Query[] {
  return dashboardFiles.flatMap((file) => {
    const { uid, panels } = readDashboard(file)
    return panels.flatMap(({ title, targets }) =>
      targets.map(({ expr }) => ({
        source: `${uid}: ${title}`,
        expr: expr.replaceAll('$instance', '.*').replaceAll('$__rate_interval', '1m'),
      })),
    )
  })
}

export function readAlerts() {
  const text = readFileSync(join(root, 'deploy/prometheus/alerts.yaml'), 'utf8')
  return rulesSchema.parse(parse(text)).groups.flatMap(({ rules }) => rules)
}

/** Finds the metrics of Platnet that a query names, without the suffixes of histograms. */
export function metricsOf(expr: string): readonly string[] {
  const histograms = new Set(
    metricGroups.flatMap(({ specs }) => specs.filter(({ type }) => type === 'histogram').map(({ name }) => name)),
  )
  const prefixes =
    'apiserver|etcd|workqueue|controller|leader|scheduler|rest_client|kubeproxy|platnet|coredns|process|nodejs'
  const found = expr.replaceAll(/"[^"]*"/g, '').match(new RegExp(`\\b(${prefixes})_[a-z0-9_]+`, 'g')) ?? []
  return found.map((name) => {
    const base = name.replace(/_(bucket|count|sum)$/, '')
    return histograms.has(base) ? base : name
  })
}
