import { change, changeStatus, create, type Kind, objectCases } from './object-case.ts'

const labels = { app: 'web' }
const template = { metadata: { labels }, spec: { containers: [{ name: 'web', image: 'web:1' }] } }
const kind: Kind = {
  collection: '/api/v1/namespaces/default/replicationcontrollers',
  valid: { metadata: { name: 'new' }, spec: { template } },
}
const spec = (fields: object) => ({ spec: fields })
const pods = (fields: object) => spec({ template: { spec: fields } })
const at = 'spec.template'

export const replicationControllerCases = objectCases('ReplicationControllers', kind, [
  create('nothing special', {}),
  create('a selector', spec({ selector: labels, replicas: 2, minReadySeconds: 5 })),
  create('another selector', spec({ selector: { app: 'other' } }), `Invalid ${at}.metadata.labels`),
  create('no template', spec({ template: null }), 'Required spec.selector', `Required ${at}`),
  create('no spec', { spec: null }, 'Required spec.selector', `Required ${at}`),
  create('pods without labels', spec({ template: { metadata: null } }), 'Required spec.selector'),
  create(
    'numbers below zero',
    spec({ replicas: -1, minReadySeconds: -1 }),
    ...['Invalid spec.replicas', 'Invalid spec.minReadySeconds'],
  ),
  create('pods that end', pods({ restartPolicy: 'Never' }), `NotSupported ${at}.spec.restartPolicy`),
  create('a deadline of the pods', pods({ activeDeadlineSeconds: 5 }), `Forbidden ${at}.spec.activeDeadlineSeconds`),
  create('a name in capitals', { metadata: { name: 'New' } }, 'Invalid metadata.name'),
  create('no containers', pods({ containers: [] }), `Required ${at}.spec.containers`),
  change('the replicas', {}, spec({ replicas: 3 })),
  change(
    'the selector and the template',
    {},
    spec({ selector: { b: 'c' }, template: { metadata: { labels: { b: 'c' } } } }),
    ...[
      // The patch adds to the selector; the labels of the template have both.
    ],
  ),
  change('the selector alone', {}, spec({ selector: { b: 'c' } }), `Invalid ${at}.metadata.labels`),
  changeStatus(
    'counts',
    {},
    { status: { replicas: 2, readyReplicas: 1, availableReplicas: 1, fullyLabeledReplicas: 2 } },
  ),
  changeStatus(
    'more ready than there are',
    {},
    { status: { replicas: 1, readyReplicas: 2, availableReplicas: 2, fullyLabeledReplicas: 2 } },
    'Invalid status.readyReplicas',
    'Invalid status.availableReplicas',
    'Invalid status.fullyLabeledReplicas',
  ),
])
