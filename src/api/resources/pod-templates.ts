import { type ApiDocument, objectAt } from '../document.ts'
import { defineKind } from './define-kind.ts'
import { formatLabelSelector } from './label-selector.ts'
import { completeTemplate, podSpecDefaults } from './pod-spec/pod-defaults.ts'
import { validatePodTemplate } from './pod-spec/pod-template-rules.ts'
import { column, type Resource } from './resource.ts'
import { containerCells } from './template-columns.ts'

/** The kind PodTemplate: a template that stands by itself, for clients that make Pods of it. */
export function podTemplates(): Resource {
  const [names, images] = containerCells(({ template }) => objectAt(template, 'spec'))
  return defineKind({
    group: '',
    version: 'v1',
    kind: 'PodTemplate',
    plural: 'podtemplates',
    namespaced: true,
    countsGeneration: true,
    defaults: { template: { default: {}, properties: { spec: podSpecDefaults } } },
    hidesAge: true,
    columns: [
      column('Containers', names),
      column('Images', images),
      column('Pod Labels', ({ template }) =>
        formatLabelSelector({ matchLabels: objectAt(template, 'metadata', 'labels') }),
      ),
    ],
    strategy: {
      prepareForCreate: complete,
      prepareForUpdate: complete,
      validate: ({ template }) => validatePodTemplate(template, 'template'),
    },
  })
}

function complete(document: ApiDocument): ApiDocument {
  return { ...document, template: completeTemplate(document['template']) }
}
