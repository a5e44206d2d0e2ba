import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { AdminConnection } from '../../helpers/admin-connection.ts'
import { startPeer } from '../../helpers/kubernetes-peer.ts'
import { HollowKubelet } from './hollow-kubelet.ts'
import { adminKubeconfig, ClientProgram, type ClientsCluster } from './programs.ts'

/**
 * Starts Kubernetes' own control plane, with Nodes as `startHollowCluster` has them: what programs find there is what they should find with
 * us. The stack ends it.
 */
export async function startPeerCluster(stack: AsyncDisposableStack, nodes: readonly string[]): Promise<ClientsCluster> {
  const folder = mkdtempSync(join(tmpdir(), 'plt-clients-'))
  stack.defer(() => rmSync(folder, { recursive: true, force: true }))
  const { access } = stack.use(await startPeer())
  const admin = stack.adopt(new AdminConnection(access, 16), (connection) => connection.close())
  const kubeconfig = join(folder, 'kubeconfig')
  adminKubeconfig(kubeconfig, access)
  const cluster = { folder, access, admin, kubeconfig }
  const ca = join(folder, 'ca.crt')
  writeFileSync(ca, access.ca)
  const common = [`--kubeconfig=${kubeconfig}`, '--leader-elect=false', '--secure-port=0']
  const addresses = ['--allocate-node-cidrs', '--cluster-cidr=10.244.0.0/16']
  stack.use(new ClientProgram('kube-controller-manager', [...common, ...addresses, `--root-ca-file=${ca}`], cluster))
  stack.use(new ClientProgram('kube-scheduler', common, cluster))
  await stack.use(new HollowKubelet(admin, nodes)).start()
  return cluster
}
