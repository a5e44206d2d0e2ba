import type { JsonObject } from '../../../src/model/api-object.ts'
import type { FullObject } from './full-objects.ts'

const metadata = { name: 'full', labels: { a: 'b' }, annotations: { c: 'd' } }
const selector = { matchLabels: { a: 'b' }, matchExpressions: [{ key: 'k', operator: 'In', values: ['v', 'w'] }] }
const time = '2026-01-01T00:00:00Z'
const storage = '/apis/storage.k8s.io/v1'
const nodeAffinity = {
  required: {
    nodeSelectorTerms: [
      {
        matchExpressions: [{ key: 'k', operator: 'In', values: ['v'] }],
        matchFields: [{ key: 'metadata.name', operator: 'In', values: ['n'] }],
      },
    ],
  },
}
const secret = { name: 's', namespace: 'n' }

const volumeTypes: Readonly<Record<string, JsonObject>> = {
  local: { path: '/disk', fsType: 'ext4' },
  nfs: { server: 'nfs', path: '/a', readOnly: true },
  csi: {
    driver: 'disk.example.com',
    volumeHandle: 'h',
    readOnly: true,
    fsType: 'ext4',
    volumeAttributes: { a: 'b' },
    controllerPublishSecretRef: secret,
    nodeStageSecretRef: secret,
    nodePublishSecretRef: secret,
    nodeExpandSecretRef: secret,
    controllerExpandSecretRef: secret,
  },
  iscsi: {
    targetPortal: '10.0.0.1',
    iqn: 'iqn.2026-01.com.example:disk',
    lun: 1,
    iscsiInterface: 'i',
    fsType: 'ext4',
    readOnly: true,
    portals: ['10.0.0.2'],
    chapAuthDiscovery: true,
    chapAuthSession: true,
    secretRef: secret,
    initiatorName: 'iqn.2026-01.com.example:node',
  },
  fc: { targetWWNs: ['a'], lun: 1, fsType: 'ext4', readOnly: true },
  gcePersistentDisk: { pdName: 'd', partition: 1, fsType: 'ext4', readOnly: true },
  awsElasticBlockStore: { volumeID: 'v', partition: 1 },
  glusterfs: { endpoints: 'e', path: 'p', endpointsNamespace: 'n' },
  flocker: { datasetName: 'd' },
  rbd: { monitors: ['m'], image: 'i', pool: 'p', user: 'u', keyring: 'k', secretRef: secret },
  quobyte: { registry: 'a:1,b:2', volume: 'v', tenant: 't' },
  cephfs: { monitors: ['m'], path: '/a', user: 'u', secretRef: secret },
  cinder: { volumeID: 'v', fsType: 'ext4', secretRef: secret },
  flexVolume: { driver: 'd', options: { a: 'b' }, secretRef: secret },
  azureFile: { secretName: 's', shareName: 'n', secretNamespace: 'n' },
  azureDisk: {
    diskName: 'd',
    diskURI: 'https://a.example.com/d',
    cachingMode: 'None',
    fsType: 'xfs',
    readOnly: true,
    kind: 'Dedicated',
  },
  vsphereVolume: { volumePath: 'v' },
  photonPersistentDisk: { pdID: 'p' },
  portworxVolume: { volumeID: 'v' },
  scaleIO: { gateway: 'g', system: 's', volumeName: 'v', secretRef: secret, storageMode: 'm', fsType: 'f' },
  storageos: { volumeName: 'v', volumeNamespace: 'n' },
}

function ofType([type, source]: readonly [string, JsonObject]): FullObject {
  const spec = { capacity: { storage: '1Gi' }, accessModes: ['ReadWriteOnce'], [type]: source }
  const affinity = type === 'local' ? { nodeAffinity } : {}
  return {
    kind: `PersistentVolume_${type}`,
    path: '/api/v1/persistentvolumes',
    body: { metadata: { name: `full-${type.toLowerCase()}` }, spec: { ...spec, ...affinity } },
  }
}

/** Volumes, claims, and the kinds of CSI drivers. */
export const fullVolumes: readonly FullObject[] = [
  {
    kind: 'PersistentVolume',
    path: '/api/v1/persistentvolumes',
    body: {
      metadata,
      spec: {
        capacity: { storage: '1Gi' },
        accessModes: ['ReadWriteOnce', 'ReadOnlyMany'],
        claimRef: { kind: 'PersistentVolumeClaim', namespace: 'n', name: 'c', uid: 'u', resourceVersion: '1' },
        persistentVolumeReclaimPolicy: 'Delete',
        storageClassName: 'c',
        mountOptions: ['ro'],
        volumeMode: 'Block',
        hostPath: { path: '/disk', type: 'Directory' },
        nodeAffinity,
      },
    },
    status: { phase: 'Failed', message: 'm', reason: 'R', lastPhaseTransitionTime: time },
  },
  ...Object.entries(volumeTypes).map(ofType),
  {
    kind: 'PersistentVolumeClaim',
    path: '/api/v1/namespaces/default/persistentvolumeclaims',
    body: {
      metadata,
      spec: {
        accessModes: ['ReadWriteOnce'],
        selector,
        resources: { requests: { storage: '1Gi' }, limits: { storage: '2Gi' } },
        volumeName: 'v',
        storageClassName: 'c',
        volumeMode: 'Block',
        dataSource: { kind: 'PersistentVolumeClaim', name: 'other' },
        dataSourceRef: { kind: 'PersistentVolumeClaim', name: 'other' },
        volumeAttributesClassName: 'a',
      },
    },
    status: {
      phase: 'Lost',
      accessModes: ['ReadWriteOnce'],
      capacity: { storage: '1Gi' },
      conditions: [
        { type: 'Resizing', status: 'True', lastProbeTime: time, lastTransitionTime: time, reason: 'R', message: 'm' },
      ],
      allocatedResources: { storage: '2Gi' },
      allocatedResourceStatuses: { storage: 'NodeResizePending' },
      currentVolumeAttributesClassName: 'a',
      modifyVolumeStatus: { targetVolumeAttributesClassName: 'b', status: 'Pending' },
    },
  },
  {
    kind: 'StorageClass',
    path: `${storage}/storageclasses`,
    body: {
      metadata,
      provisioner: 'disk.example.com',
      parameters: { a: 'b' },
      reclaimPolicy: 'Retain',
      mountOptions: ['ro'],
      allowVolumeExpansion: true,
      volumeBindingMode: 'WaitForFirstConsumer',
      allowedTopologies: [{ matchLabelExpressions: [{ key: 'k', values: ['v', 'w'] }] }],
    },
  },
  {
    kind: 'CSIDriver',
    path: `${storage}/csidrivers`,
    body: {
      metadata,
      spec: {
        attachRequired: false,
        podInfoOnMount: true,
        volumeLifecycleModes: ['Persistent', 'Ephemeral'],
        storageCapacity: true,
        fsGroupPolicy: 'File',
        tokenRequests: [{ audience: 'a', expirationSeconds: 600 }],
        requiresRepublish: true,
      },
    },
  },
  {
    kind: 'CSIStorageCapacity',
    path: `${storage}/namespaces/default/csistoragecapacities`,
    body: { metadata, nodeTopology: selector, storageClassName: 'c', capacity: '1Gi', maximumVolumeSize: '1Mi' },
  },
  {
    kind: 'VolumeAttributesClass',
    path: `${storage}/volumeattributesclasses`,
    body: { metadata, driverName: 'disk.example.com', parameters: { a: 'b' } },
  },
  {
    kind: 'VolumeAttachment',
    path: `${storage}/volumeattachments`,
    body: {
      metadata,
      spec: { attacher: 'disk.example.com', source: { persistentVolumeName: 'v' }, nodeName: 'n' },
    },
    status: {
      attached: true,
      attachmentMetadata: { a: 'b' },
      attachError: { time, message: 'm' },
      detachError: { time, message: 'm' },
    },
  },
  {
    kind: 'VolumeAttachment_inline',
    path: `${storage}/volumeattachments`,
    body: {
      metadata: { name: 'full-inline' },
      spec: {
        attacher: 'disk.example.com',
        source: {
          inlineVolumeSpec: {
            accessModes: ['ReadWriteOnce'],
            persistentVolumeReclaimPolicy: 'Retain',
            mountOptions: ['ro'],
            volumeMode: 'Filesystem',
            csi: { driver: 'disk.example.com', volumeHandle: 'h' },
          },
        },
        nodeName: 'n',
      },
    },
  },
]
