/** The sources in a test file: their script (source-bundle.mjs), with the packages of the test file. */
import { createRequire } from 'node:module'

export const modules = globalThis.runSources(createRequire(import.meta.url), (name) => import(name))
