import type { Schema } from '../../schema/schema.ts'
import { podSpecDefaults } from '../pod-spec/pod-defaults.ts'

/** The defaults of the spec of a Job that the template of a CronJob has too. */
export const jobTemplateDefaults: Schema = {
  default: {},
  properties: {
    podFailurePolicy: {
      properties: {
        rules: {
          items: { properties: { onPodConditions: { items: { properties: { status: { default: 'True' } } } } } },
        },
      },
    },
    template: { properties: { spec: podSpecDefaults } },
  },
}

/** The defaults of the spec of a Job that depend on nothing. */
export const jobDefaults: Schema = {
  ...jobTemplateDefaults,
  properties: {
    ...jobTemplateDefaults.properties,
    completionMode: { default: 'NonIndexed' },
    suspend: { default: false },
    manualSelector: { default: false },
  },
}
