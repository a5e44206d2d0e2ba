import { change, changeStatus, create, differs, type Kind, objectCases, replace } from './object-case.ts'

const collection = '/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers'
const scaleTargetRef = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' }
const kind: Kind = { collection, valid: { metadata: { name: 'new' }, spec: { scaleTargetRef, maxReplicas: 5 } } }

const spec = (fields: object) => ({ spec: fields })
const refers = (fields: object) => spec({ scaleTargetRef: fields })
const metric = (fields: object) => spec({ metrics: [fields] })
const resource = (target: object, name = 'cpu') => metric({ type: 'Resource', resource: { name, target } })
const share = { type: 'Utilization', averageUtilization: 50 }
const average = { type: 'AverageValue', averageValue: '5' }
const container = (fields: object) =>
  metric({ type: 'ContainerResource', containerResource: { name: 'cpu', container: 'app', target: share, ...fields } })
const pods = (fields: object) => metric({ type: 'Pods', pods: { metric: { name: 'm' }, target: average, ...fields } })
const described = { apiVersion: 'v1', kind: 'Service', name: 's' }
const object = (fields: object) =>
  metric({
    type: 'Object',
    object: { describedObject: described, metric: { name: 'm' }, target: { type: 'Value', value: '5' }, ...fields },
  })
const external = (fields: object) =>
  metric({ type: 'External', external: { metric: { name: 'm' }, target: { type: 'Value', value: '5' }, ...fields } })
const up = (fields: object) => spec({ behavior: { scaleUp: fields } })
const down = (fields: object) => spec({ behavior: { scaleDown: fields } })
const policy = (fields: object) => up({ policies: [{ type: 'Pods', value: 1, periodSeconds: 60, ...fields }] })

const version = 'Invalid spec.scaleTargetRef.apiVersion'
const metric0 = 'spec.metrics[0]'
const target0 = `${metric0}.resource.target`
const policy0 = 'spec.behavior.scaleUp.policies[0]'
const off = 'Kubernetes 1.34 drops the field while its feature is off; the API core checks it'

export const autoscalerCases = objectCases('HorizontalPodAutoscalers', kind, [
  create('nothing special', {}),
  create('a name in capitals', { metadata: { name: 'New' } }, 'Invalid metadata.name'),
  create(
    'no spec',
    { spec: null },
    'Invalid spec.maxReplicas',
    'Required spec.scaleTargetRef.kind',
    'Required spec.scaleTargetRef.name',
    version,
  ),
  create('no replicas', spec({ maxReplicas: 0 }), 'Invalid spec.maxReplicas'),
  create('fewer than no replicas', spec({ maxReplicas: -1 }), 'Invalid spec.maxReplicas'),
  create('less than the minimum', spec({ minReplicas: 6 }), 'Invalid spec.maxReplicas'),
  create('from zero', spec({ minReplicas: 0 }), 'Invalid spec.minReplicas', 'Forbidden spec.metrics'),
  create('from less than zero', spec({ minReplicas: -1 }), 'Invalid spec.minReplicas'),
  create('no kind', refers({ kind: '' }), 'Required spec.scaleTargetRef.kind'),
  create('a kind with a slash', refers({ kind: 'a/b' }), 'Invalid spec.scaleTargetRef.kind'),
  create('a name with a percent sign', refers({ name: 'a%b' }), 'Invalid spec.scaleTargetRef.name'),
  create('no version', refers({ apiVersion: null }), version),
  create('a version of the core group', refers({ apiVersion: 'v1' }), version),
  create('a version with two slashes', refers({ apiVersion: 'a/b/c' }), version),
  create('a version of no group', refers({ apiVersion: '/v1' }), version),
  create('a ReplicationController', refers({ apiVersion: 'v1', kind: 'ReplicationController' })),
  create('a ReplicationController without version', refers({ apiVersion: null, kind: 'ReplicationController' })),
  create('a custom kind', refers({ apiVersion: 'example.com/v1', kind: 'Gadget' })),
  create('an empty list of metrics', spec({ metrics: [] })),
  create('a share of memory', resource(share, 'memory')),
  create('an amount', resource(average)),
  create('a fraction', resource({ type: 'AverageValue', averageValue: '100m' })),
  create('any resource', resource(share, 'b c')),
  create('no resource', resource(share, ''), `Required ${metric0}.resource.name`),
  create('no target', resource({ type: 'Utilization' }), `Required ${target0}.averageUtilization`),
  create(
    'a target without type',
    resource({ averageUtilization: 50 }),
    `Required ${target0}.type`,
    `Invalid ${target0}.type`,
  ),
  create('a target of another type', resource({ ...share, type: 'Most' }), `Invalid ${target0}.type`),
  create('two targets', resource({ ...share, averageValue: '5' }), `Forbidden ${target0}.averageValue`),
  create('a share of nothing', resource({ ...share, averageUtilization: 0 }), `Invalid ${target0}.averageUtilization`),
  create('an amount of nothing', resource({ ...average, averageValue: '0' }), `Invalid ${target0}.averageValue`),
  create('a negative amount', resource({ ...average, averageValue: '-5' }), `Invalid ${target0}.averageValue`),
  create('a negative value', resource({ ...share, value: '-5' }), `Invalid ${target0}.value`),
  create(
    'a metric of no type',
    metric({ resource: { name: 'cpu', target: share } }),
    `Required ${metric0}.type`,
    `NotSupported ${metric0}.type`,
  ),
  create('a metric of another type', metric({ type: 'Disk' }), `NotSupported ${metric0}.type`),
  create('a metric without its source', metric({ type: 'Pods' }), `Required ${metric0}.pods`),
  create(
    'the source of another type',
    metric({ type: 'Pods', resource: { name: 'cpu', target: share } }),
    `Required ${metric0}.pods`,
  ),
  create(
    'two sources',
    metric({ type: 'Resource', resource: { name: 'cpu', target: share }, pods: { metric: {}, target: {} } }),
    `Required ${metric0}.pods.metric.name`,
    `Required ${metric0}.pods.target.type`,
    `Invalid ${metric0}.pods.target.type`,
    `Required ${metric0}.pods.target.averageValue`,
    `Forbidden ${metric0}.pods`,
  ),
  create('a container', container({})),
  create('no container', container({ container: '' }), `Required ${metric0}.containerResource.container`),
  create('a container in capitals', container({ container: 'App' }), `Invalid ${metric0}.containerResource.container`),
  create('no resource of a container', container({ name: '' }), `Required ${metric0}.containerResource.name`),
  create('a resource that no container has', container({ name: 'disk' }), `Invalid ${metric0}.containerResource.name`),
  create('an extended resource of a container', container({ name: 'example.com/gpu' })),
  create(
    'a container without target',
    container({ target: { type: 'Utilization' } }),
    `Required ${metric0}.containerResource.target.averageUtilization`,
  ),
  create('a metric of pods', pods({})),
  create('a metric of pods without name', pods({ metric: { name: '' } }), `Required ${metric0}.pods.metric.name`),
  create('a metric of pods with a slash', pods({ metric: { name: 'a/b' } }), `Invalid ${metric0}.pods.metric.name`),
  create(
    'a metric of pods by value',
    pods({ target: { type: 'Value', value: '5' } }),
    `Required ${metric0}.pods.target.averageValue`,
  ),
  create('a metric of an object', object({})),
  create('a metric of an object without group', object({ describedObject: { ...described, apiVersion: '' } })),
  create(
    'a metric of an object with two slashes',
    object({ describedObject: { ...described, apiVersion: 'a/b/c' } }),
    `Invalid ${metric0}.object.describedObject.apiVersion`,
  ),
  create(
    'a metric of no object',
    object({ describedObject: {} }),
    `Required ${metric0}.object.describedObject.kind`,
    `Required ${metric0}.object.describedObject.name`,
  ),
  create('a metric of an object by share', object({ target: share }), `Required ${metric0}.object.target.averageValue`),
  create('an external metric', external({})),
  create(
    'an external metric by share',
    external({ target: share }),
    `Required ${metric0}.external.target.averageValue`,
  ),
  create(
    'an external metric twice',
    external({ target: { ...average, value: '5' } }),
    `Forbidden ${metric0}.external.target.value`,
  ),
  create('an empty behavior', spec({ behavior: {} })),
  create('an empty direction', up({})),
  create('no policies', up({ policies: [] }), 'Required spec.behavior.scaleUp.policies'),
  create('a policy', policy({})),
  create('a policy in percent', policy({ type: 'Percent', value: 900 })),
  create('a policy of no type', policy({ type: '' }), `NotSupported ${policy0}.type`),
  create('a policy of another type', policy({ type: 'Nodes' }), `NotSupported ${policy0}.type`),
  create('a policy of nothing', policy({ value: 0 }), `Invalid ${policy0}.value`),
  create('a policy of no time', policy({ periodSeconds: 0 }), `Invalid ${policy0}.periodSeconds`),
  create('a policy of half an hour', policy({ periodSeconds: 1800 })),
  create('a policy of more than half an hour', policy({ periodSeconds: 1801 }), `Invalid ${policy0}.periodSeconds`),
  create('a window of an hour', down({ stabilizationWindowSeconds: 3600 })),
  create(
    'a window of more than an hour',
    down({ stabilizationWindowSeconds: 3601 }),
    'Invalid spec.behavior.scaleDown.stabilizationWindowSeconds',
  ),
  create(
    'a negative window',
    down({ stabilizationWindowSeconds: -1 }),
    'Invalid spec.behavior.scaleDown.stabilizationWindowSeconds',
  ),
  create('a direction that is off', down({ selectPolicy: 'Disabled' })),
  create('another selection', down({ selectPolicy: 'Most' }), 'NotSupported spec.behavior.scaleDown.selectPolicy'),
  create('an empty selection', down({ selectPolicy: '' }), 'NotSupported spec.behavior.scaleDown.selectPolicy'),
  create('a tolerance', down({ tolerance: '50m' })),
  differs(
    create('a negative tolerance', down({ tolerance: '-50m' }), 'Invalid spec.behavior.scaleDown.tolerance'),
    off,
  ),
  change('more replicas', {}, spec({ maxReplicas: 9 })),
  change('zero replicas', {}, spec({ maxReplicas: 0 }), 'Invalid spec.maxReplicas'),
  change('another target', {}, refers({ kind: 'StatefulSet' })),
  change('a target without group', {}, refers({ apiVersion: 'v1' }), version),
  change('no metrics', resource(average), spec({ metrics: null })),
  replace('the object without its revision', {}, spec({ minReplicas: 2 })),
  changeStatus('sizes', {}, { status: { currentReplicas: 1, desiredReplicas: 2 } }),
  changeStatus(
    'a negative size',
    {},
    { status: { currentReplicas: -1, desiredReplicas: 2 } },
    'Invalid status.currentReplicas',
  ),
  changeStatus('a negative wish', {}, { status: { desiredReplicas: -2 } }, 'Invalid status.desiredReplicas'),
])

const v1 = '/apis/autoscaling/v1/namespaces/default/horizontalpodautoscalers'
const kept = (text: string) => ({ metadata: { annotations: { 'autoscaling.alpha.kubernetes.io/metrics': text } } })
const amount = (value: string) => `[{"type":"Resource","resource":{"name":"memory","targetAverageValue":"${value}"}}]`

export const autoscalerV1Cases = objectCases('HorizontalPodAutoscalers of version 1', { ...kind, collection: v1 }, [
  create('a share of CPU', spec({ targetCPUUtilizationPercentage: 50 })),
  create('a share of nothing', spec({ targetCPUUtilizationPercentage: 0 }), `Invalid ${target0}.averageUtilization`),
  create('no replicas', spec({ maxReplicas: 0 }), 'Invalid spec.maxReplicas'),
  create('a metric in an annotation', kept(amount('5'))),
  create('an amount of nothing in an annotation', kept(amount('0')), `Invalid ${target0}.averageValue`),
  create('an annotation that is no list', kept('{')),
  change('no share', spec({ targetCPUUtilizationPercentage: 50 }), spec({ targetCPUUtilizationPercentage: null })),
  changeStatus('a negative size', {}, { status: { currentReplicas: -1 } }, 'Invalid status.currentReplicas'),
])
