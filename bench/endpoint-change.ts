import type { BenchReport } from './report.ts'
export async function benchEndpointChange(): Promise<BenchReport> { return { name: 'endpoint-change', rows: [] } }
