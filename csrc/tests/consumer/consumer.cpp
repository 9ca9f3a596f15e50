// The same from C++, with many scores at once and the model in a smart pointer: consumer MODEL.fbm. Prints "ok".
#include <fastbin.h>

#include <cstdio>
#include <memory>
#include <vector>

int main(int argc, char **argv) {
  if (argc != 2) return 2;
  fastbin_model *loaded = nullptr;
  if (fastbin_model_load(argv[1], &loaded) != FASTBIN_OK) return 1;
  const std::unique_ptr<fastbin_model, decltype(&fastbin_model_free)> model(loaded, fastbin_model_free);

  const std::vector<float> scores = {0.1f, 0.3f, 0.9f};
  std::vector<double> values(scores.size());
  fastbin_rows rows{};
  rows.struct_size = sizeof rows;
  rows.scores = scores.data();
  rows.score_type = FASTBIN_FLOAT32;
  rows.score_stride = sizeof(float);
  rows.n_rows = scores.size();
  if (fastbin_predict(model.get(), &rows, values.data(), nullptr) != FASTBIN_OK) return 4;
  if (values != std::vector<double>{0.125, 0.5, 1.0}) return 5;
  std::puts("ok");
  return 0;
}
