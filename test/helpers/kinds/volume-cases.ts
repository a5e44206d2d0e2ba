import { change, changeStatus, create, type Fields, type Kind, type ObjectCase, objectCases } from './object-case.ts'
import { otherWords } from './write-case.ts'

const inDefault = '/api/v1/namespaces/default'
const storage = '/apis/storage.k8s.io/v1'

const volume: Kind = {
  collection: '/api/v1/persistentvolumes',
  valid: {
    metadata: { name: 'new' },
    spec: { capacity: { storage: '1Gi' }, accessModes: ['ReadWriteOnce'], hostPath: { path: '/disk' } },
  },
}
const spec = (fields: Fields): Fields => ({ spec: fields })
const inGo = (each: ObjectCase): ObjectCase => ({ ...each, ...otherWords.goFields })
const local = {
  hostPath: null,
  local: { path: '/disk' },
  nodeAffinity: {
    required: { nodeSelectorTerms: [{ matchExpressions: [{ key: 'a', operator: 'In', values: ['b'] }] }] },
  },
}
const csi = { hostPath: null, csi: { driver: 'disk.example.com', volumeHandle: 'h' } }
const secret = { name: 's', namespace: 'n' }

export const volumeCases = objectCases('PersistentVolumes', volume, [
  create('nothing special', {}),
  create('no access mode', spec({ accessModes: [] }), 'Required spec.accessModes'),
  create('an access mode that is none', spec({ accessModes: ['Write'] }), 'NotSupported spec.accessModes'),
  create(
    'one Pod and others',
    spec({ accessModes: ['ReadWriteOncePod', 'ReadWriteOnce'] }),
    'Forbidden spec.accessModes',
  ),
  inGo(create('no capacity', spec({ capacity: null }), 'Required spec.capacity', 'NotSupported spec.capacity')),
  inGo(create('another capacity', spec({ capacity: { cpu: '1', storage: null } }), 'NotSupported spec.capacity')),
  create('an empty volume', spec({ capacity: { storage: '0' } }), 'Invalid spec.capacity[storage]'),
  create('less than an empty volume', spec({ capacity: { storage: '-1Gi' } }), 'Invalid spec.capacity[storage]'),
  create('no type', spec({ hostPath: null }), 'Required spec'),
  create('two types', spec({ nfs: { server: 's', path: '/a' } }), 'Forbidden spec.nfs'),
  create('a path with a step back', spec({ hostPath: { path: '/a/../b' } }), 'Invalid spec.hostPath.path'),
  create('a disk of a node', spec(local)),
  create('a disk of any node', spec({ ...local, nodeAffinity: null }), 'Required spec.nodeAffinity'),
  create(
    'a disk of no node',
    spec({ ...local, nodeAffinity: { required: null } }),
    'Required spec.nodeAffinity.required',
  ),
  create(
    'a policy that is none',
    spec({ persistentVolumeReclaimPolicy: 'Keep' }),
    'NotSupported spec.persistentVolumeReclaimPolicy',
  ),
  create(
    'the root, emptied',
    spec({ hostPath: { path: '/' }, persistentVolumeReclaimPolicy: 'Recycle' }),
    'Forbidden spec.persistentVolumeReclaimPolicy',
  ),
  create('a class in capitals', spec({ storageClassName: 'Fast' }), 'Invalid spec.storageClassName'),
  create('attributes of a volume without a driver', spec({ volumeAttributesClassName: 'a' }), 'Required spec.csi'),
  create(
    'attributes without a name',
    spec({ ...csi, volumeAttributesClassName: '' }),
    'Required spec.volumeAttributesClassName',
  ),
  create(
    'mount options of a folder',
    { metadata: { annotations: { 'volume.beta.kubernetes.io/mount-options': 'ro' } } },
    'Forbidden metadata.annotations.volume.beta.kubernetes.io/mount-options',
  ),
  change('the capacity', {}, spec({ capacity: { storage: '2Gi' } })),
  change('the policy', {}, spec({ persistentVolumeReclaimPolicy: 'Delete' })),
  change('the class', {}, spec({ storageClassName: 'slow' })),
  change('the claim', {}, spec({ claimRef: { namespace: 'default', name: 'c' } })),
  inGo(change('the path', {}, spec({ hostPath: { path: '/other' } }), 'Forbidden spec.persistentvolumesource')),
  change('the mode', {}, spec({ volumeMode: 'Block' }), 'Invalid volumeMode'),
  change('the nodes, which were not said', {}, spec({ nodeAffinity: local.nodeAffinity })),
  inGo(
    change(
      'the nodes',
      spec(local),
      spec({
        nodeAffinity: { required: { nodeSelectorTerms: [{ matchExpressions: [{ key: 'c', operator: 'Exists' }] }] } },
      }),
      'Invalid nodeAffinity',
    ),
  ),
  change('a secret to expand, where there was none', spec(csi), spec({ csi: { controllerExpandSecretRef: secret } })),
  inGo(
    change(
      'the secret to expand',
      spec({ ...csi, csi: { ...csi.csi, controllerExpandSecretRef: secret } }),
      spec({ csi: { controllerExpandSecretRef: { name: 't' } } }),
      'Forbidden spec.persistentvolumesource',
    ),
  ),
  change(
    'no attributes any more',
    spec({ ...csi, volumeAttributesClassName: 'a' }),
    spec({ volumeAttributesClassName: null }),
    'Forbidden spec.volumeAttributesClassName',
  ),
  changeStatus('the phase', {}, { status: { phase: 'Available' } }),
])

const claim: Kind = {
  collection: `${inDefault}/persistentvolumeclaims`,
  valid: {
    metadata: { name: 'new' },
    spec: { accessModes: ['ReadWriteOnce'], storageClassName: '', resources: { requests: { storage: '1Gi' } } },
  },
}
const size = (storageSize: string) => spec({ resources: { requests: { storage: storageSize } } })
const immutable = (title: string, object: Fields, patch: Fields) => inGo(change(title, object, patch, 'Forbidden spec'))
const refused = (each: ObjectCase): ObjectCase => ({ ...each, code: 403, reason: 'Forbidden' })
const oldClass = (name: string): Fields => ({ annotations: { 'volume.beta.kubernetes.io/storage-class': name } })

export const claimCases = objectCases('PersistentVolumeClaims', claim, [
  create('nothing special', {}),
  create('no class said', spec({ storageClassName: null })),
  create('no access mode', spec({ accessModes: [] }), 'Required spec.accessModes'),
  create('no size', spec({ resources: null }), 'Required spec.resources[storage]'),
  create('no room', size('0'), 'Invalid spec.resources[storage]'),
  create('a class in capitals', spec({ storageClassName: 'Fast' }), 'Invalid spec.storageClassName'),
  create('a source that is dropped', spec({ dataSource: { kind: 'Other', name: 'o', apiGroup: 'example.com' } })),
  create('a name in capitals', { metadata: { name: 'New' } }, 'Invalid metadata.name'),
  change('labels', {}, { metadata: { labels: { a: 'b' } } }),
  change('the volume, once', {}, spec({ volumeName: 'v' })),
  immutable('the volume, again', spec({ volumeName: 'v' }), spec({ volumeName: 'w' })),
  immutable('the class', {}, spec({ storageClassName: 'fast' })),
  change('the class, where none was said', spec({ storageClassName: null }), spec({ storageClassName: 'fast' })),
  change(
    'the class from the annotation to the field',
    { metadata: oldClass('fast'), ...spec({ storageClassName: null }) },
    { metadata: oldClass('fast'), ...spec({ storageClassName: 'fast' }) },
  ),
  change(
    'the class in the annotation',
    { metadata: oldClass('fast'), ...spec({ storageClassName: null }) },
    { metadata: oldClass('slow') },
    'Invalid metadata.annotations.volume.beta.kubernetes.io/storage-class',
  ),
  immutable('the access modes', {}, spec({ accessModes: ['ReadOnlyMany'] })),
  immutable('the selector', {}, spec({ selector: { matchLabels: { a: 'b' } } })),
  immutable('less, before it is bound', {}, size('1Mi')),
  immutable('more, before it is bound', {}, size('2Gi')),
  change('the size in other words', {}, size('1024Mi')),
  inGo(change('the mode', {}, spec({ volumeMode: 'Block' }), 'Forbidden spec', 'Invalid volumeMode')),
  changeStatus('the phase', {}, { status: { phase: 'Bound', capacity: { storage: '1Gi' } } }),
  changeStatus(
    'less than nothing',
    {},
    { status: { capacity: { storage: '-1' } } },
    'Invalid status.capacity[storage]',
  ),
  changeStatus(
    'an expansion of something else',
    {},
    { status: { allocatedResources: { cpu: '1' }, allocatedResourceStatuses: { storage: 'Big' } } },
    'NotSupported status.allocatedResources',
    'NotSupported status.allocatedResourceStatuses',
  ),
])

const bound = { phase: 'Bound', capacity: { storage: '1Gi' } }
const boundClaim = (name: string, storageClassName: string) => ({
  path: claim.collection,
  body: { metadata: { name }, spec: { ...(claim.valid['spec'] as object), storageClassName } },
  status: bound,
})
const refusal = { code: 403, reason: 'Forbidden', causes: [] }
const patchOf = (name: string, storageSize: string) => ({
  method: 'PATCH' as const,
  path: `${claim.collection}/${name}`,
  body: size(storageSize),
})
const storageClass: Kind = {
  collection: `${storage}/storageclasses`,
  valid: { metadata: { name: 'new' }, provisioner: 'disk.example.com' },
}

/** Claims that are bound, of classes whose volumes can and cannot grow. */
export const claimSizeCases = {
  title: 'sizes of bound PersistentVolumeClaims',
  fixtures: [
    {
      path: storageClass.collection,
      body: { metadata: { name: 'growing' }, provisioner: 'disk.example.com', allowVolumeExpansion: true },
    },
    { path: storageClass.collection, body: { metadata: { name: 'fixed' }, provisioner: 'disk.example.com' } },
    boundClaim('grows', 'growing'),
    boundClaim('stays', 'fixed'),
    boundClaim('by-hand', ''),
  ],
  cases: [
    { title: 'more where the class allows it', ...patchOf('grows', '2Gi'), causes: [] },
    { title: 'less than there is', ...patchOf('grows', '1Mi'), causes: ['Forbidden spec.resources.requests.storage'] },
    { title: 'more where the class does not say so', ...patchOf('stays', '2Gi'), ...refusal },
    { title: 'more without a class', ...patchOf('by-hand', '2Gi'), ...refusal },
  ],
}

export const claimLimitCases = {
  ...objectCases('bounds of PersistentVolumeClaims', claim, [
    refused(create('more than the namespace allows', size('6Gi'))),
    refused(create('less than the namespace allows', size('1Ki'))),
    create('just enough', size('1Mi')),
  ]),
  fixtures: [
    {
      path: `${inDefault}/limitranges`,
      body: {
        metadata: { name: 'bounds' },
        spec: { limits: [{ type: 'PersistentVolumeClaim', min: { storage: '1Mi' }, max: { storage: '5Gi' } }] },
      },
    },
  ],
}

export const storageClassCases = objectCases('StorageClasses', storageClass, [
  create('nothing special', {}),
  create('no provisioner', { provisioner: null }, 'Required provisioner'),
  create('a provisioner in capitals', { provisioner: 'Disk.Example.com' }),
  create('a provisioner with a blank', { provisioner: 'a b' }, 'Invalid provisioner'),
  create('a policy that is none', { reclaimPolicy: 'Recycle' }, 'NotSupported reclaimPolicy'),
  create('a mode that is none', { volumeBindingMode: 'Later' }, 'NotSupported volumeBindingMode'),
  create('a parameter without a name', { parameters: { '': 'a' } }, 'Invalid parameters'),
  create(
    'a topology twice',
    {
      allowedTopologies: [
        {
          matchLabelExpressions: [
            { key: 'a', values: ['b'] },
            { key: 'a', values: ['b'] },
          ],
        },
      ],
    },
    'Duplicate allowedTopologies[0].matchLabelExpressions[1].key',
  ),
  change('the parameters', {}, { parameters: { a: 'b' } }, 'Forbidden parameters'),
  change('the provisioner', {}, { provisioner: 'b' }, 'Forbidden provisioner'),
  change('the policy', {}, { reclaimPolicy: 'Retain' }, 'Forbidden reclaimPolicy'),
  inGo(change('the mode', {}, { volumeBindingMode: 'WaitForFirstConsumer' }, 'Invalid volumeBindingMode')),
  change('whether volumes grow', {}, { allowVolumeExpansion: true }),
])
