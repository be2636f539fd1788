/** The environment of each test file: Node.js, with the sources as one script (source-bundle.mjs). */
import { TestEnvironment } from 'jest-environment-node'
import { readFileSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
import { Script } from 'node:vm'
import { nameInStacks, scriptFile } from './source-bundle.mjs'

let script

/** Compiled once for all test files of a worker, with what they have compiled of it later. */
const compiled = () => (script ??= new Script(readFileSync(scriptFile, 'utf8'), { filename: nameInStacks }))

export default class Environment extends TestEnvironment {
  constructor(config, context) {
    super(config, context)
    this.global.runSources = (require, importModule) => {
      const module = {}
      compiled().runInContext(this.getVmContext())(require, importModule, pathToFileURL(scriptFile).href, module)
      return module.exports
    }
  }
}
