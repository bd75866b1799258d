const visible = /[^\s\p{Z}\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}\u2800]/u

/** Whether anything of a text is seen: blanks, controls, zero-width and other format characters are not. */
export function isVisible(text: string): boolean {
  return visible.test(text)
}
