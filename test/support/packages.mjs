/** Loads packages outside of the script of the sources into the context of the test files, once for each worker. */
import { readFileSync } from 'node:fs'
import { createRequire, isBuiltin } from 'node:module'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { compileFunction } from 'node:vm'

const root = fileURLToPath(new URL('../../package.json', import.meta.url))

const PARAMETERS = ['exports', 'require', 'module', '__filename', '__dirname']

/** Makes a `require` for the root of the project. The modules run in the context. */
export function loaderFor(context) {
  const loaded = new Map()

  function load(path) {
    const known = loaded.get(path)
    if (known !== undefined) return known.exports
    const exportsOf = { exports: {}, filename: path, loaded: false }
    loaded.set(path, exportsOf)
    const text = readFileSync(path, 'utf8')
    if (path.endsWith('.json')) exportsOf.exports = JSON.parse(text)
    else {
      const run = compileFunction(text, PARAMETERS, { filename: path, parsingContext: context })
      run.call(exportsOf.exports, exportsOf.exports, requireFrom(path), exportsOf, path, dirname(path))
    }
    exportsOf.loaded = true
    return exportsOf.exports
  }

  function requireFrom(path) {
    const native = createRequire(path)
    const require = (name) => {
      if (name === 'process' || name === 'node:process') return context.process
      if (isBuiltin(name)) return native(name)
      const file = native.resolve(name)
      return file.endsWith('.node') ? native(name) : load(file)
    }
    require.resolve = native.resolve
    return require
  }

  return requireFrom(root)
}
