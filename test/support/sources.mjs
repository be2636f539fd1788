/** The sources in a test file: their script (source-bundle.mjs), with the packages of the test file. */

export const modules = globalThis.runSources((name) => import(name))
