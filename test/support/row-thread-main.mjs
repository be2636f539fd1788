/** The thread that compares rows, not compiled: a thread does not inherit what makes Node.js understand TypeScript. */
import { register } from 'tsx/esm/api'

register()
await import('../../src/library/row-thread-main.ts')
