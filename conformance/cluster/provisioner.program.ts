// The provisioner of the storage class `folders`: each claim gets a folder of this node as its volume, which goes with the claim. up.sh
// starts it in the namespaces of the node, with the CA of the API server in NODE_EXTRA_CA_CERTS.
//   API  URL of the API server;  TOKEN  of a user who may write volumes;  FOLDERS  where the folders are made
import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'

const provisioner = 'folders.platnet.test'
const provisionedBy = 'pv.kubernetes.io/provisioned-by'
const askedOf = 'volume.kubernetes.io/storage-provisioner'

const environment = z.object({ API: z.string(), TOKEN: z.string(), FOLDERS: z.string() })
const { API, TOKEN, FOLDERS } = environment.parse(process.env)

const metadata = z.object({
  name: z.string(),
  namespace: z.string().optional(),
  uid: z.string(),
  annotations: z.record(z.string(), z.string()).default({}),
  deletionTimestamp: z.string().optional(),
})
const claims = z.object({
  items: z.array(
    z.object({
      metadata,
      spec: z.object({
        accessModes: z.array(z.string()),
        volumeMode: z.string(),
        storageClassName: z.string().optional(),
        resources: z.object({ requests: z.record(z.string(), z.string()) }),
      }),
      status: z.object({ phase: z.string().optional() }),
    }),
  ),
})
const volumes = z.object({
  items: z.array(z.object({ metadata, status: z.object({ phase: z.string().optional() }).default({}) })),
})
type Claim = z.output<typeof claims>['items'][number]

async function ask(method: string, path: string, body?: object): Promise<unknown> {
  const response = await fetch(`${API}/api/v1/${path}`, {
    method,
    headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' },
    ...(body && { body: JSON.stringify(body) }),
  })
  const text = await response.text()
  if (!response.ok && response.status !== 409) throw new Error(`${method} ${path}: ${response.status} ${text}`)
  return JSON.parse(text)
}

function makeVolume({ metadata: { name, namespace, uid }, spec }: Claim) {
  const path = join(FOLDERS, uid)
  mkdirSync(path, { recursive: true, mode: 0o777 })
  return ask('POST', 'persistentvolumes', {
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: { name: `pvc-${uid}`, annotations: { [provisionedBy]: provisioner } },
    spec: {
      capacity: spec.resources.requests,
      accessModes: spec.accessModes,
      volumeMode: spec.volumeMode,
      storageClassName: spec.storageClassName,
      persistentVolumeReclaimPolicy: 'Delete',
      claimRef: { apiVersion: 'v1', kind: 'PersistentVolumeClaim', name, namespace, uid },
      hostPath: { path },
    },
  })
}

async function pass(): Promise<void> {
  const known = volumes.parse(await ask('GET', 'persistentvolumes')).items
  const names = new Set(known.map(({ metadata: { name } }) => name))
  for (const claim of claims.parse(await ask('GET', 'persistentvolumeclaims')).items) {
    const { annotations, deletionTimestamp, uid } = claim.metadata
    const isAsked = annotations[askedOf] === provisioner && claim.status.phase !== 'Bound'
    if (isAsked && deletionTimestamp === undefined && !names.has(`pvc-${uid}`)) await makeVolume(claim)
  }
  const released = known.filter(({ status }) => status.phase === 'Released')
  for (const { metadata: each } of released.filter((one) => one.metadata.annotations[provisionedBy] === provisioner)) {
    rmSync(join(FOLDERS, each.name.slice('pvc-'.length)), { recursive: true, force: true })
    await ask('DELETE', `persistentvolumes/${each.name}`)
  }
}

for (;;) {
  await pass().catch((error: unknown) => console.error(error))
  await sleep(1000)
}
