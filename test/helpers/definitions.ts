/** A CustomResourceDefinition with a bit of everything; the test changes what it is about. */
export function definition(plural = 'widgets', kind = 'Widget') {
  return {
    metadata: { name: `${plural}.example.com` },
    spec: {
      group: 'example.com',
      scope: 'Namespaced',
      names: { plural, kind, shortNames: kind === 'Widget' ? ['wd'] : [], categories: ['all'] },
      versions: [version()],
    },
  }
}

function version() {
  return {
    name: 'v1',
    served: true,
    storage: true,
    schema: { openAPIV3Schema: schema() },
    subresources: {
      status: {},
      scale: {
        specReplicasPath: '.spec.replicas',
        statusReplicasPath: '.status.replicas',
        labelSelectorPath: '.status.selector',
      },
    },
    additionalPrinterColumns: [
      { name: 'Size', type: 'integer', jsonPath: '.spec.size' },
      { name: 'Since', type: 'date', jsonPath: '.metadata.creationTimestamp' },
    ],
    selectableFields: [{ jsonPath: '.spec.colour' }],
  }
}

function schema() {
  return {
    type: 'object',
    required: ['spec'],
    properties: {
      spec: {
        type: 'object',
        properties: {
          size: { type: 'integer', minimum: 0, maximum: 10 },
          colour: { type: 'string', enum: ['red', 'blue'], default: 'blue' },
          none: { type: 'string' },
          replicas: { type: 'integer' },
          raw: { type: 'object', 'x-platform-preserve-unknown-fields': true },
        },
      },
      status: {
        type: 'object',
        properties: { replicas: { type: 'integer' }, selector: { type: 'string' } },
      },
    },
  }
}

/** An instance of the definition above. */
export function spec(name: string, fields: object, kind = 'Widget') {
  return { apiVersion: 'example.com/v1', kind, metadata: { name }, spec: fields }
}
