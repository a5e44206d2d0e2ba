export { InProcessDriver } from './driver.ts'
