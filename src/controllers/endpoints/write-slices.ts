import type { EndpointSlice } from '../objects/endpoints.ts'
import { replacedMetadata } from '../runtime/metadata.ts'
import type { ObjectWriter } from '../runtime/object-writer.ts'
import type { SliceContent, SlicePlan, SliceTemplate } from './plan-slices.ts'

/** Writes the planned slices, deletions last: an endpoint that moves is never without a slice. */
export async function writeSlices(
  plan: SlicePlan,
  template: SliceTemplate,
  writer: ObjectWriter<EndpointSlice>,
  signal: AbortSignal,
): Promise<void> {
  const { namespace, generateName, labels, owner } = template
  const annotations = { ...template.annotations, ...template.passingAnnotations }
  for (const content of plan.creates) {
    const metadata = { generateName, namespace, labels, annotations, ownerReferences: [owner] }
    await writer.create(metadata, fieldsOf(content), signal)
  }
  for (const { slice, content } of plan.updates) {
    const metadata = {
      ...replacedMetadata(slice.metadata),
      labels,
      annotations: { ...slice.metadata.annotations, ...annotations },
    }
    await writer.update(metadata, fieldsOf(content), signal)
  }
  for (const slice of plan.deletes) await writer.delete(slice, signal)
}

function fieldsOf({ family, ports, endpoints }: SliceContent) {
  return { addressType: family, ports, endpoints }
}
