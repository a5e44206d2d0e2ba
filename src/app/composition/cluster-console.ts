import { z } from 'zod'
import { ApiClient, loadKubeconfig } from '../../client/index.ts'
import {
  type Console,
  type ConsoleAnswer,
  clusterCharts,
  createConsole,
  explainInCluster,
  type LiveSource,
} from '../../console/index.ts'
import type { Component } from '../../loop/component.ts'
import { createStateSources, LiveNodeState } from '../../node/state/index.ts'
import { type Logger, readBuildInfo } from '../../observe/index.ts'
import type { AppContext } from '../context.ts'
import { ClusterConnection } from './cluster-connection.ts'
import { dataPaths } from './cluster-files.ts'
import { ClusterLists } from './cluster-lists.ts'
import { policyQuestions } from './console-questions.ts'
import { describeIssues } from './flow-question.ts'

export interface ClusterConsoleParts {
  readonly context: AppContext
  /** The parts of the server, whose health is shown. */
  readonly parts: readonly Component[]
  /** Whether the agent of this machine has a console beside this one. */
  readonly hasAgent: boolean
  readonly log: Logger
}

/** The console of the cluster: a client of the API server beside it, with the identity of the controllers, that only reads. */
export async function createClusterConsole({ context, parts, hasAgent, log }: ClusterConsoleParts): Promise<Console> {
  const { app, console } = context.options.values
  const client = new ApiClient(await loadKubeconfig(dataPaths(app.dataDir).controllersKubeconfig))
  let state: LiveNodeState | undefined
  return createConsole({
    scope: 'cluster',
    title: 'Cluster',
    version: readBuildInfo().version,
    links: hasAgent ? [{ label: 'This node', port: console.consolePort }] : [],
    charts: clusterCharts,
    read: (names) => context.metrics.read(names),
    open: async () => {
      const opened = await openCluster(client, parts, log)
      state = opened.state
      return opened
    },
    questions: { ...policyQuestions(client), '/service': async (query) => answerService(state, query) },
    log,
  })
}

interface OpenCluster extends LiveSource {
  readonly state: LiveNodeState
}

/** Starts the informers; they keep trying while the API server is away. */
async function openCluster(client: ApiClient, parts: readonly Component[], log: Logger): Promise<OpenCluster> {
  const state = new LiveNodeState(log.child('state'))
  const lists = new ClusterLists()
  const connection = new ClusterConnection({
    client,
    createSources: (dialect) => [
      [...createStateSources({ client, dialect, state, log }), ...lists.createSources(client, log)],
    ],
    log,
  })
  await connection.start()
  return {
    state,
    services: state,
    documents: {
      status: () => ({ components: describe([...parts, connection]), problems: [] }),
      nodes: () => lists.nodes(),
      events: () => lists.events(),
    },
    close: () => connection.stop({ signal: AbortSignal.timeout(5_000) }),
  }
}

function describe(parts: readonly Component[]) {
  return Object.fromEntries(parts.map((part) => [part.name, part.health()]))
}

const serviceQuery = z.object({
  service: z.string().regex(/^[a-z0-9-]{1,63}\/[a-z0-9.-]{1,253}$/, 'expected NAMESPACE/NAME of a Service'),
})

function answerService(state: LiveNodeState | undefined, query: URLSearchParams): ConsoleAnswer {
  const parsed = serviceQuery.safeParse(Object.fromEntries(query))
  if (!parsed.success) return { status: 400, body: { error: describeIssues(parsed.error) } }
  const key = parsed.data.service
  const service = state?.service(key)
  if (state === undefined || service === undefined)
    return { status: 404, body: { error: `the cluster has no Service ${key}` } }
  return { status: 200, body: { families: explainInCluster(service, state.slicesOf(key)) } }
}
