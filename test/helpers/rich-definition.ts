/** A definition whose versions use every keyword that a schema can have. */
export const richDefinition = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: {
    name: 'riches.rich.example.com',
  },
  spec: {
    group: 'rich.example.com',
    scope: 'Namespaced',
    names: {
      plural: 'riches',
      kind: 'Rich',
    },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        subresources: {
          status: {},
          scale: {
            specReplicasPath: '.spec.replicas',
            statusReplicasPath: '.status.replicas',
          },
        },
        selectableFields: [
          {
            jsonPath: '.spec.color',
          },
        ],
        schema: {
          openAPIV3Schema: {
            type: 'object',
            description: 'Foo CRD for Testing',
            title: 'a title',
            required: ['spec'],
            externalDocs: {
              description: 'd',
              url: 'http://x',
            },
            properties: {
              apiVersion: {
                type: 'string',
                description: 'mine',
              },
              kind: {
                type: 'string',
              },
              metadata: {
                type: 'object',
                properties: {
                  name: {
                    type: 'string',
                    maxLength: 10,
                  },
                },
              },
              spec: {
                type: 'object',
                description: 'Spec',
                'x-kubernetes-validations': [
                  {
                    rule: 'self.replicas > 0',
                    message: 'm',
                    reason: 'FieldValueInvalid',
                    fieldPath: '.replicas',
                  },
                ],
                properties: {
                  replicas: {
                    type: 'integer',
                    format: 'int32',
                    minimum: 0,
                    maximum: 100,
                    default: 1,
                  },
                  color: {
                    type: 'string',
                    enum: ['red', 'blue'],
                    default: 'red',
                    example: 'red',
                  },
                  pat: {
                    type: 'string',
                    pattern: '^a*$',
                    minLength: 0,
                    maxLength: 5,
                    nullable: true,
                  },
                  fmt: {
                    type: 'string',
                    format: 'hostname',
                  },
                  fmt2: {
                    type: 'string',
                    format: 'unknown-format',
                  },
                  dt: {
                    type: 'string',
                    format: 'date-time',
                  },
                  ios: {
                    'x-kubernetes-int-or-string': true,
                  },
                  ios2: {
                    'x-kubernetes-int-or-string': true,
                    anyOf: [
                      {
                        type: 'integer',
                      },
                      {
                        type: 'string',
                      },
                    ],
                  },
                  open: {
                    type: 'object',
                    'x-kubernetes-preserve-unknown-fields': true,
                    properties: {
                      known: {
                        type: 'string',
                      },
                    },
                  },
                  any: {
                    'x-kubernetes-preserve-unknown-fields': true,
                  },
                  emb: {
                    type: 'object',
                    'x-kubernetes-embedded-resource': true,
                    'x-kubernetes-preserve-unknown-fields': true,
                    properties: {
                      spec: {
                        type: 'string',
                      },
                    },
                  },
                  lm: {
                    type: 'array',
                    'x-kubernetes-list-type': 'map',
                    'x-kubernetes-list-map-keys': ['name'],
                    items: {
                      type: 'object',
                      required: ['name'],
                      properties: {
                        name: {
                          type: 'string',
                        },
                        port: {
                          type: 'integer',
                          default: 80,
                        },
                      },
                    },
                  },
                  ls: {
                    type: 'array',
                    'x-kubernetes-list-type': 'set',
                    items: {
                      type: 'string',
                    },
                    minItems: 1,
                    maxItems: 3,
                  },
                  la: {
                    type: 'array',
                    'x-kubernetes-list-type': 'atomic',
                    items: {
                      type: 'number',
                    },
                  },
                  ma: {
                    type: 'object',
                    'x-kubernetes-map-type': 'atomic',
                    properties: {
                      a: {
                        type: 'boolean',
                        default: false,
                      },
                    },
                  },
                  mg: {
                    type: 'object',
                    'x-kubernetes-map-type': 'granular',
                    additionalProperties: {
                      type: 'string',
                    },
                  },
                  apt: {
                    type: 'object',
                    additionalProperties: true,
                  },
                  num: {
                    type: 'number',
                    multipleOf: 0.5,
                    minimum: 0.5,
                    exclusiveMinimum: true,
                    exclusiveMaximum: true,
                    maximum: 10,
                    format: 'double',
                  },
                  deep: {
                    type: 'object',
                    minProperties: 1,
                    maxProperties: 3,
                    properties: {
                      x: {
                        type: 'object',
                        properties: {
                          y: {
                            type: 'array',
                            items: {
                              type: 'array',
                              items: {
                                type: 'integer',
                                nullable: true,
                              },
                            },
                          },
                        },
                      },
                    },
                    default: {
                      x: {
                        y: [[1]],
                      },
                    },
                  },
                  logic: {
                    type: 'object',
                    properties: {
                      a: {
                        type: 'string',
                      },
                      b: {
                        type: 'string',
                      },
                    },
                    oneOf: [
                      {
                        required: ['a'],
                      },
                      {
                        required: ['b'],
                      },
                    ],
                    anyOf: [
                      {
                        properties: {
                          a: {
                            pattern: 'x',
                          },
                        },
                      },
                    ],
                    allOf: [
                      {
                        properties: {
                          b: {
                            minLength: 1,
                          },
                        },
                      },
                    ],
                    not: {
                      required: ['c'],
                    },
                  },
                  nul: {
                    type: 'object',
                    nullable: true,
                    properties: {
                      z: {
                        type: 'string',
                      },
                    },
                  },
                  empty: {
                    type: 'object',
                  },
                },
              },
              status: {
                type: 'object',
                properties: {
                  replicas: {
                    type: 'integer',
                  },
                },
              },
            },
          },
        },
      },
      {
        name: 'v2',
        served: true,
        storage: false,
        deprecated: true,
        schema: {
          openAPIV3Schema: {
            type: 'object',
            'x-kubernetes-preserve-unknown-fields': true,
          },
        },
      },
      {
        name: 'v3',
        served: true,
        storage: false,
        schema: {
          openAPIV3Schema: {
            type: 'object',
            description: 'd3',
            'x-kubernetes-preserve-unknown-fields': true,
            properties: {
              spec: {
                type: 'object',
                description: 's',
                properties: {
                  a: {
                    type: 'string',
                  },
                },
              },
            },
          },
        },
      },
      {
        name: 'v4',
        served: true,
        storage: false,
        schema: {
          openAPIV3Schema: {
            type: 'object',
            description: 'd4',
            properties: {
              spec: {
                type: 'object',
                'x-kubernetes-preserve-unknown-fields': true,
                description: 's',
                properties: {
                  a: {
                    type: 'string',
                  },
                },
              },
            },
          },
        },
      },
    ],
  },
}
