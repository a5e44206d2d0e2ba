export { DemoError, type DemoOptions, runDemo } from './demo.ts'
