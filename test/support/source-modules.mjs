/**
 * Modules that jest loads itself: those that wait at their top level, which a script cannot do, those for browsers, and
 * those that connect to other frameworks, which the tests load too.
 */
const OWN = /(?:\.d\.ts|(?:-|\/)main\.ts|^src\/interfaces\/cli\/start\.ts|^src\/interfaces\/(?:page\/client|sdk)\/.*)$/u

/** Whether a module, by its path from the root, is in the script of the sources (source-bundle.mjs). */
export const isInScript = (file) => /^(?:src|projections)\/.*\.tsx?$/u.test(file) && !OWN.test(file)
