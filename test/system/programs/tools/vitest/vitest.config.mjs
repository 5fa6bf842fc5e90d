const { ALIAS, INLINE } = process.env;

export default {
  test: {
    fileParallelism: false,
    server: { deps: { inline: INLINE === undefined ? [] : [INLINE] } }
  },
  resolve: { alias: ALIAS === '1' ? { ws: 'framemask/ws' } : {} }
};
