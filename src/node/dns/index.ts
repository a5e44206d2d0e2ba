export { DnsPlane } from './plane.ts'
export { createDnsSources } from './sources.ts'
