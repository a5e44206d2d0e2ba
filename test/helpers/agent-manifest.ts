import { cpSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { ContainerEngine } from './container-engine.ts'
import type { RealCluster } from './real-cluster.ts'

const root = resolve(import.meta.dirname, '../..')

/** The image of the agent by the recipe, as a tar for containerd; PLATNET_TEST_IMAGE names one that is built already. */
export async function buildArchive(folder: string): Promise<string> {
  const built = process.env['PLATNET_TEST_IMAGE']
  if (built !== undefined) return built
  const archive = join(folder, 'platnet.tar')
  const engine = new ContainerEngine(folder)
  await engine.build()
  await engine.podman('tag', 'localhost/platnet:test', 'localhost/platnet:latest')
  await engine.podman('save', '--format', 'docker-archive', '--output', archive, 'localhost/platnet:latest')
  await engine.remove()
  return archive
}

/** Writes deploy/ and `platnet.yaml`, set as an operator does by docs/kubernetes-install.md for a cluster with a Service kube-dns. */
export async function writeManifest(cluster: RealCluster, folder: string): Promise<void> {
  cpSync(join(root, 'deploy'), join(folder, 'deploy'), { recursive: true })
  const manifest = await cluster.kubectl('kustomize', join(folder, 'deploy/kubernetes'))
  const objects = manifest.split(/^---\n/m).filter((object) => !/^kind: Service$/m.test(object))
  writeFileSync(join(folder, 'platnet.yaml'), objects.join('---\n').replace('192.0.2.1:6443', '192.168.77.2:6443'))
}
