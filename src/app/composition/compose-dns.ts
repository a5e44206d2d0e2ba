import type { ApiClient } from '../../client/index.ts'
import type { Run } from '../../host/index.ts'
import type { Component } from '../../loop/component.ts'
import type { Dialect } from '../../model/dialect.ts'
import type { Ip } from '../../model/ip.ts'
import type { ControlAnswer } from '../../node/control/index.ts'
import { createDnsSources, DnsFormatError, DnsPlane, type DnsSourceParts } from '../../node/dns/index.ts'
import type { AppliedRevisions, LiveNodeState, SharedInformers } from '../../node/state/index.ts'
import type { AppContext } from '../context.ts'
import { findNodeName } from './node-identity.ts'

/** Cluster DNS on this node, and what follows the API once the dialect of the server is known. */
export interface DnsSide {
  readonly plane: DnsPlane
  /** Answers the questions of `platnet dns query` in the running agent. */
  readonly questions: { readonly '/dns/explain': (query: URLSearchParams) => Promise<ControlAnswer> }
  /** Creates the informers of DNS and the objects that it maintains in the API, for the server's dialect. */
  createSources(dialect: Dialect, shared: SharedInformers): readonly Component[]
}

interface DnsParts {
  readonly context: AppContext
  readonly client: ApiClient
  readonly state: LiveNodeState
  readonly applied: AppliedRevisions
  readonly run: Run
  readonly nodeAddress: () => Ip | undefined
}

/** Composes cluster DNS on this node. */
export function composeDns({ context, client, nodeAddress, ...parts }: DnsParts): DnsSide {
  const plane = createPlane(context, { ...parts, nodeAddress })
  return {
    plane,
    questions: { '/dns/explain': (query) => answerExplain(plane, query) },
    createSources: (dialect, shared) => createSources(context, plane, { client, dialect, shared, nodeAddress }),
  }
}

function createPlane(
  context: AppContext,
  { state, applied, run, nodeAddress }: Pick<DnsParts, 'state' | 'applied' | 'run' | 'nodeAddress'>,
): DnsPlane {
  const { node, dns } = context.options.values
  return new DnsPlane({
    state,
    applied,
    run,
    settings: {
      ...dns,
      // Read at each check of the configuration.
      get corefile() {
        return context.live.values.dns.corefile
      },
      get dnsConfigMapFiles() {
        return context.live.values.dns.dnsConfigMapFiles
      },
      get nodeAddress() {
        return nodeAddress()
      },
      clusterCidrs: node.clusterCidr,
      env: context.env,
    },
    processMetrics: () => context.metrics.processText(),
    log: context.logging.logger('platform_dns'),
    tracer: context.tracer,
  })
}

function createSources(
  context: AppContext,
  plane: DnsPlane,
  parts: Pick<DnsSourceParts, 'client' | 'dialect' | 'shared' | 'nodeAddress'>,
): readonly Component[] {
  const { app, node, dns } = context.options.values
  const nodeName = findNodeName(node.nodeName)
  const log = context.logging.logger('platform_dns').child('client')
  const makesObjects = app.components.includes('registration')
  const { clusterDns } = dns
  return createDnsSources({ ...parts, plane, nodeName, clusterDns, makesObjects, log })
}

async function answerExplain(plane: DnsPlane, query: URLSearchParams): Promise<ControlAnswer> {
  const [name, type] = [query.get('name'), query.get('type')]
  if (name === null || type === null) return { status: 400, body: { error: 'expected name and type' } }
  const explanation = await explainOrFault(plane, name, type)
  if (explanation instanceof DnsFormatError) return { status: 400, body: { error: explanation.message } }
  if (explanation === undefined)
    return { status: 404, body: { error: 'no DNS server of this node answers that question' } }
  return { status: 200, body: explanation }
}

async function explainOrFault(plane: DnsPlane, name: string, type: string) {
  try {
    return await plane.explain(name, type)
  } catch (error) {
    if (error instanceof DnsFormatError) return error
    throw error
  }
}
