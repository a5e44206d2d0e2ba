export const configMaps = '/api/v1/namespaces/default/configmaps'

/** About 1 KB, as a small Service or ConfigMap is. */
export function configMapText(name: string): string {
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name, labels: { app: 'bench' } },
    data: { blob: 'x'.repeat(900) },
  })
}
