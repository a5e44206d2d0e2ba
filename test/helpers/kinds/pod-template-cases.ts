import { change, create, type Kind, objectCases, replaceAbsent } from './object-case.ts'

const kind: Kind = {
  collection: '/api/v1/namespaces/default/podtemplates',
  valid: {
    metadata: { name: 'new' },
    template: { metadata: { labels: { app: 'web' } }, spec: { containers: [{ name: 'web', image: 'web:1' }] } },
  },
}
const pods = (fields: object) => ({ template: { spec: fields } })

export const podTemplateCases = objectCases('PodTemplates', kind, [
  create('nothing special', {}),
  create('pods without labels', { template: { metadata: null } }),
  create('pods that end', pods({ restartPolicy: 'Never', activeDeadlineSeconds: 5 })),
  create('no containers', pods({ containers: [] }), 'Required template.spec.containers'),
  create('no template', { template: null }, 'Required template.spec.containers'),
  create('a label with a blank', { template: { metadata: { labels: { a: 'b c' } } } }, 'Invalid template.labels'),
  create('a name in capitals', { metadata: { name: 'New' } }, 'Invalid metadata.name'),
  change('the image', {}, pods({ containers: [{ name: 'web', image: 'web:2' }] })),
  change('the containers away', {}, pods({ containers: [] }), 'Required template.spec.containers'),
  { ...replaceAbsent('a template that there is not', {}), code: 404, reason: 'NotFound' },
])
