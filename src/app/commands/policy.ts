import { readFile } from 'node:fs/promises'
import { text } from 'node:stream/consumers'
import { ApiClient, accessByServer, loadKubeconfig } from '../../client/index.ts'
import { ConfigError, suggestName } from '../../config/index.ts'
import { PlatnetError } from '../../model/errors.ts'
import { type PolicyEffect, type PolicyMatrix, policyEffect, policyMatrix } from '../../node/policy/index.ts'
import { dataPaths } from '../composition/cluster-files.ts'
import { type ListedCluster, listPolicyCluster } from '../composition/policy-cluster.ts'
import type { Options } from '../context.ts'
import { readPolicyManifest } from './policy-manifest.ts'

export type {
  AddressSpan,
  Direction,
  EffectRow,
  GroupedPods,
  MatrixRow,
  PolicyEffect,
  PolicyMatrix,
  PortSet,
  Reach,
} from '../../node/policy/index.ts'

class PolicyQuestionError extends PlatnetError<'no-namespace'> {}

/** An answer, and what it leaves out. */
export interface PolicyAnswer<Answer> {
  readonly answer: Answer
  /** One line for each object that could not be used. */
  readonly problems: readonly string[]
}

/** Computes who reaches whom in a namespace. Throws ApiError, KubeconfigError, PolicyQuestionError. */
export async function askMatrix(options: Options['values'], namespace: string): Promise<PolicyAnswer<PolicyMatrix>> {
  const cluster = await listCluster(options)
  checkNamespace(namespace, cluster)
  return { answer: policyMatrix(cluster, namespace), problems: cluster.problems }
}

/**
 * Computes what the policies of a manifest would change. Throws ApiError, KubeconfigError, PolicyQuestionError, and ConfigError for a
 * manifest that cannot be read.
 *
 * @param file `-` for standard input
 * @param namespace of policies that name none
 */
export async function askEffect(
  options: Options['values'],
  file: string,
  namespace: string,
): Promise<PolicyAnswer<PolicyEffect>> {
  const manifestText = await readManifest(file)
  const cluster = await listCluster(options)
  const { policies, others } = readPolicyManifest(manifestText, file, namespace, cluster.dialect)
  for (const policy of policies) checkNamespace(policy.namespace, cluster)
  const ignored = others.map((other) => `${other} of ${file} is no NetworkPolicy and not part of the answer`)
  return { answer: policyEffect(cluster, policies), problems: [...cluster.problems, ...ignored] }
}

/** Lists with the access that `--kubeconfig` or `--server` names, else as the administrator of the server of this machine. */
async function listCluster(options: Options['values']): Promise<ListedCluster> {
  const client = new ApiClient(await findAccess(options))
  try {
    return await listPolicyCluster(client)
  } finally {
    client.close()
  }
}

async function findAccess({ app, node }: Options['values']) {
  if (node.kubeconfig !== undefined) return loadKubeconfig(node.kubeconfig, { servers: node.server })
  if (node.server !== undefined) return accessByServer(...node.server)
  return loadKubeconfig(dataPaths(app.dataDir).adminKubeconfig)
}

async function readManifest(file: string): Promise<string> {
  try {
    return file === '-' ? await text(process.stdin) : await readFile(file, 'utf8')
  } catch (cause) {
    throw new ConfigError('config-unreadable', [`${file} cannot be read`], { cause })
  }
}

function checkNamespace(namespace: string, { namespaces }: ListedCluster): void {
  if (namespaces.includes(namespace)) return
  const meant = suggestName(namespace, namespaces)
  throw new PolicyQuestionError('no-namespace', `the cluster has no namespace ${JSON.stringify(namespace)}`, {
    remedy: meant === undefined ? 'name one with -n' : `did you mean ${meant}?`,
  })
}
