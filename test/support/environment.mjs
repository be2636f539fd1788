/**
 * The environment of test files: one JavaScript context for all test files of a worker.
 *
 * The sources are one script (source-bundle.mjs). It runs once for each worker, so V8 evaluates and optimizes its modules
 * once. Jest's own environment makes a context for each test file, in which an access to a global passes a proxy and
 * takes thirty times as long.
 *
 * Each test file has its own modules, `process` and globals. The variables of the program's modules remain for the next
 * test file of the worker, as in a long-lived process.
 */
import { ModernFakeTimers } from '@jest/fake-timers'
import { installCommonGlobals } from 'jest-util'
import { ModuleMocker } from 'jest-mock'
import { readFileSync } from 'node:fs'
import { constants, createContext, Script } from 'node:vm'
import { pathToFileURL } from 'node:url'
import { loaderFor } from './packages.mjs'
import { nameInStacks, scriptFile } from './source-bundle.mjs'

/** Globals of Node.js that a new context lacks. Bytes have the classes that Node's own modules use. */
function addGlobalsOfNode(global) {
  for (const name of Object.getOwnPropertyNames(globalThis)) {
    if (Object.hasOwn(global, name) || name === 'process') continue
    const { configurable, enumerable } = Object.getOwnPropertyDescriptor(globalThis, name)
    let value
    let isRead = false
    Object.defineProperty(global, name, {
      configurable,
      enumerable,
      // Some are loaded when they are first read.
      get: () => {
        if (!isRead) value = globalThis[name]
        isRead = true
        return value
      },
      set: (changed) => {
        value = changed
        isRead = true
      },
    })
  }
  Object.assign(global, { global, Buffer, ArrayBuffer, Uint8Array })
}

const ownKeys = (global) => new Set(Reflect.ownKeys(global))

function newWorld() {
  const context = createContext(constants.DONT_CONTEXTIFY)
  addGlobalsOfNode(context)
  installCommonGlobals(context, {})
  // Node 20 has these symbols in its own context alone.
  for (const name of ['dispose', 'asyncDispose']) context.Symbol[name] ??= Symbol[name]
  context.Error.stackTraceLimit = 100
  return { context, keys: ownKeys(context), sources: undefined, load: loaderFor(context), importModule: undefined }
}

/** A copy of the process, as jest makes it for each test file. */
function newProcess() {
  const bag = { Symbol, Date }
  installCommonGlobals(bag, {})
  return bag.process
}

function runSources({ context, load }, importModule) {
  const module = {}
  const script = new Script(readFileSync(scriptFile, 'utf8'), { filename: nameInStacks })
  script.runInContext(context)(load, importModule, pathToFileURL(scriptFile).href, module)
  return module.exports
}

let world

export default class Environment {
  constructor({ projectConfig: config }) {
    world ??= newWorld()
    const global = world.context
    this.global = global
    global.process = newProcess()
    this.moduleMocker = new ModuleMocker(global)
    this.fakeTimersModern = new ModernFakeTimers({ config, global })
    global.runSources = (importModule) => {
      world.importModule = importModule
      return (world.sources ??= runSources(world, (name) => world.importModule(name)))
    }
  }

  setup() {}

  /** Removes the globals that the test file and jest have added. */
  teardown() {
    this.fakeTimersModern.dispose()
    for (const key of Reflect.ownKeys(this.global)) if (!world.keys.has(key)) Reflect.deleteProperty(this.global, key)
    this.global = null
  }

  exportConditions() {
    return ['node', 'node-addons']
  }

  getVmContext() {
    return world.context
  }
}
