/** The folder of this package. It is searched from this module, which the build may put into any folder of `dist`. */
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The nearest folder above a file that has a package.json; undefined if there is none. */
export function packageFolderOf(file: string): string | undefined {
  const folder = dirname(file)
  if (folder === file) return undefined
  return existsSync(join(folder, 'package.json')) ? folder : packageFolderOf(folder)
}

/**
 * The path of a file of this package that the build makes, for example `src/interfaces/page/assets`.
 * @throws if this module was copied out of the package
 */
export function builtFile(...path: string[]): string {
  const root = packageFolderOf(fileURLToPath(import.meta.url))
  if (root === undefined) throw new Error(`${path.join('/')} is missing: install the package context-ledger`)
  return join(root, 'dist', ...path)
}

/** The file of the build's id, in `dist`. scripts/build.mjs writes it. */
const BUILD_ID = 'build-id'

/** Identifies the code of this build; the version of this package if it was not built. */
export function buildId(): string {
  try {
    return readFileSync(builtFile(BUILD_ID), 'utf8')
  } catch {
    return packageVersion()
  }
}

/** The version of this package; `unknown` if this module was copied into another one. */
export function packageVersion(): string {
  const root = packageFolderOf(fileURLToPath(import.meta.url))
  if (root === undefined) return 'unknown'
  // Every command reads it, so a schema is not worth its loading.
  const found: unknown = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  return typeof found === 'object' &&
    found !== null &&
    'name' in found &&
    found.name === 'context-ledger' &&
    'version' in found
    ? String(found.version)
    : 'unknown'
}
